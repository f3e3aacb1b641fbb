"""Choose the ranks to examine and derive the verdict from the hosts' reports; pure.

In a collective, late ranks hold up all others. Of the ranks without progress, suspects are those that have
started fewer collectives of a group than other members, or completed fewer steps. When none is behind, all
ranks may be saving, loading or evaluating, and a much longer limit applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from clusterwright.onhost.supervisor.hang import stacks

LATE_S = 2.0  # tolerated delay of a repeated report
ANSWER_S = 15.0  # an examination takes one second, and at most ten
RETRY_S = 30.0

_PAUSED = 2


@dataclass(frozen=True)
class Rank:
    """A rank without progress, as its host reports it."""

    rank: int
    local_rank: int
    host: str
    step: int
    phase: int
    stalled_s: float
    heartbeat_age_s: float
    state: str
    groups: Mapping[str, int]
    moves: bool
    limit_s: float
    long_s: float

    @property
    def allowed_s(self) -> float:
        """Return the limit of standstill in seconds while others wait for this rank; longer while it is paused."""
        return self.long_s if self.phase == _PAUSED else self.limit_s


@dataclass(frozen=True)
class Hung:
    """A rank found hung; `proven` means beyond doubt."""

    rank: int
    local_rank: int
    host: str
    step: int
    seconds: float
    message: str
    proven: bool


class Inquiry:
    """Finds hung ranks of one generation by its hosts' reports; `now` is the supervisor's monotonic clock."""

    def __init__(self, members: Sequence[str]) -> None:
        self._members = frozenset(members)
        self._reports: Dict[str, Tuple[float, List[Rank]]] = {}  # expiry and ranks of each host's report
        self._examining: Dict[int, Rank] = {}
        self._examining_since = self._not_before = float("-inf")
        self._hung: List[Hung] = []
        self._everyone = self._excused = False

    def receive(self, host: str, ranks: Sequence[Mapping[str, Any]], repeat_s: float, now: float) -> None:
        """Store a host's report of its stalled ranks; it is valid until its repetition in `repeat_s`.

        A report without ranks means that all of them make progress.
        """
        self._reports[host] = (
            now + repeat_s + LATE_S if ranks else now,
            [Rank(host=host, **fields) for fields in ranks],
        )

    def due(self, now: float) -> Dict[str, List[int]]:
        """Return the ranks to examine now, by host, and count them as being examined; mostly none.

        None while others are examined, for at most ANSWER_S. First stopped ranks, then suspects if all hosts have
        reported, then overdue ones.
        """
        if now < self._not_before or (self._examining and now < self._examining_since + ANSWER_S):
            return {}
        fresh = {host: ranks for host, (expiry, ranks) in self._reports.items() if now < expiry}
        stalled_ranks = [rank for ranks in fresh.values() for rank in ranks]
        culprits = stopped(stalled_ranks) or (suspects(stalled_ranks) if self._members <= set(fresh) else [])
        chosen = culprits or overdue(stalled_ranks)
        self._examining, self._examining_since, self._hung = (
            {suspect.rank: suspect for suspect in chosen},
            now,
            [],
        )
        self._everyone, self._excused = not culprits, False
        ranks_by_host: Dict[str, List[int]] = {}
        for suspect in chosen:
            ranks_by_host.setdefault(suspect.host, []).append(suspect.rank)
        return ranks_by_host

    def examined(self, findings: Sequence[Mapping[str, Any]], now: float) -> List[Hung]:
        """Store one host's findings; return the hung ranks if they suffice to end the generation, else none.

        One hung suspect suffices. When no rank was behind, all must be hung: one that works explains why the others
        wait.
        """
        for finding in findings:
            rank = self._examining.pop(int(finding["rank"]), None)
            if rank and finding["verdict"] == "hung":
                self._hung.append(_hung(rank, finding, now - self._examining_since))
            elif rank:
                self._excused = True
                self._not_before = now + min(RETRY_S, max(1.0, rank.stalled_s))
        if self._everyone and (self._excused or self._examining):
            return []
        return self._hung


def stopped(stalled_ranks: Sequence[Rank]) -> List[Rank]:
    """Return the ranks that a signal has stopped for longer than their limit."""
    return [rank for rank in stalled_ranks if rank.state == stacks.STOPPED and rank.stalled_s >= rank.limit_s]


def suspects(stalled_ranks: Sequence[Rank]) -> List[Rank]:
    """Return the ranks that hold up others, or do not update their page, for longer than their limit.

    `stalled_ranks` must be all ranks of the generation.
    """
    late = {rank.rank for rank in stragglers(stalled_ranks)}
    return [
        rank
        for rank in stalled_ranks
        if (rank.rank in late or rank.heartbeat_age_s >= rank.limit_s) and rank.stalled_s >= rank.allowed_s
    ]


def stragglers(stalled_ranks: Sequence[Rank]) -> List[Rank]:
    """Return the ranks that others wait for and that wait for none: fewer collectives in a group, or fewer steps.

    If each late rank waits for another, all late ones; steps count only if no rank reports collectives.
    """
    most: Dict[str, int] = {}
    least: Dict[str, int] = {}
    for rank in stalled_ranks:
        for group, number in rank.groups.items():
            most[group] = max(number, most.get(group, number))
            least[group] = min(number, least.get(group, number))
    late = [
        rank for rank in stalled_ranks if any(number < most[group] for group, number in rank.groups.items())
    ]
    waiting = {
        rank.rank
        for rank in stalled_ranks
        if any(number > least[group] for group, number in rank.groups.items())
    }
    culprits = [rank for rank in late if rank.rank not in waiting] or late
    if culprits or any(rank.groups for rank in stalled_ranks):
        return culprits
    furthest = max((rank.step for rank in stalled_ranks), default=0)
    return [rank for rank in stalled_ranks if rank.step < furthest]


def overdue(stalled_ranks: Sequence[Rank]) -> List[Rank]:
    """Return all stalled ranks if one that made progress before exceeds the limit for all ranks together; else none."""
    return (
        list(stalled_ranks)
        if any(rank.moves and rank.stalled_s >= rank.long_s for rank in stalled_ranks)
        else []
    )


def _hung(rank: Rank, finding: Mapping[str, Any], since_s: float) -> Hung:
    message, proven = str(finding["message"]), bool(finding["proven"])
    seconds = round(rank.stalled_s + since_s, 2)
    return Hung(rank.rank, rank.local_rank, rank.host, rank.step, seconds, message, proven)
