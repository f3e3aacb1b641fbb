"""Which ranks of a generation are to be examined, and what follows: pure, of what the hosts have said and when.

In a collective, whoever comes late holds all others up. So of ranks that stand still, those are suspected that have
started fewer collectives of a group than its other members have, or completed fewer steps. When nobody is behind,
all of them may be saving, loading or evaluating, and the limit is a much longer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from clusterwright.onhost.supervisor.hang import stacks

LATE_S = 2.0  # what was to be said again may be late by so much
ANSWER_S = 15.0  # an examination takes one second, and at most ten
RETRY_S = 30.0

_PAUSED = 2


@dataclass(frozen=True)
class Rank:
    """A rank that stands still, as its host tells it."""

    rank: int
    local_rank: int
    host: str
    step: int
    phase: int
    still_s: float
    silent_s: float
    state: str
    groups: Mapping[str, int]
    moves: bool
    limit_s: float
    long_s: float

    @property
    def allowed_s(self) -> float:
        """How long it may stand still though others wait for it."""
        return self.long_s if self.phase == _PAUSED else self.limit_s


@dataclass(frozen=True)
class Hung:
    """A rank found hung; `proven` says that there is no doubt."""

    rank: int
    local_rank: int
    host: str
    step: int
    seconds: float
    message: str
    proven: bool


class Inquiry:
    """One generation's; `now` is the supervisor's clock."""

    def __init__(self, members: Sequence[str]) -> None:
        self._members = frozenset(members)
        self._reports: Dict[str, Tuple[float, List[Rank]]] = {}  # until when it holds
        self._examining: Dict[int, Rank] = {}
        self._examining_since = self._not_before = float("-inf")
        self._hung: List[Hung] = []
        self._everyone = self._excused = False

    def receive(self, host: str, ranks: Sequence[Mapping[str, Any]], again_s: float, now: float) -> None:
        """A host says that its ranks stand still, and will again so soon; without ranks, that they move."""
        self._reports[host] = (
            now + again_s + LATE_S if ranks else now,
            [Rank(host=host, **fields) for fields in ranks],
        )

    def due(self, now: float) -> Dict[str, List[int]]:
        """Whom to have examined now: ranks of each host; mostly nobody."""
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
        """What was found on one host; who is hung, once that is enough to end the generation.

        Of suspects one is enough. When nobody was behind, all must be hung: one that works excuses those that wait.
        """
        for finding in findings:
            rank = self._examining.pop(int(finding["rank"]), None)
            if rank and finding["verdict"] == "hung":
                self._hung.append(_hung(rank, finding, now - self._examining_since))
            elif rank:
                self._excused = True
                self._not_before = now + min(RETRY_S, max(1.0, rank.still_s))
        if self._everyone and (self._excused or self._examining):
            return []
        return self._hung


def stopped(stalled_ranks: Sequence[Rank]) -> List[Rank]:
    """Those that a signal has stopped for too long, whatever the others do."""
    return [rank for rank in stalled_ranks if rank.state == stacks.STOPPED and rank.still_s >= rank.limit_s]


def suspects(stalled_ranks: Sequence[Rank]) -> List[Rank]:
    """Of all ranks of a generation, those that hold the others up for too long."""
    late = {rank.rank for rank in stragglers(stalled_ranks)}
    return [
        rank
        for rank in stalled_ranks
        if (rank.rank in late or rank.silent_s >= rank.limit_s) and rank.still_s >= rank.allowed_s
    ]


def stragglers(stalled_ranks: Sequence[Rank]) -> List[Rank]:
    """Those that others wait for and that wait for nobody: fewer collectives in a group, or fewer steps."""
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
    """All of them, when one that is known to move has stood still for longer than everyone together may."""
    return (
        list(stalled_ranks)
        if any(rank.moves and rank.still_s >= rank.long_s for rank in stalled_ranks)
        else []
    )


def _hung(rank: Rank, finding: Mapping[str, Any], since_s: float) -> Hung:
    message, proven = str(finding["words"]), bool(finding["proven"])
    seconds = round(rank.still_s + since_s, 2)
    return Hung(rank.rank, rank.local_rank, rank.host, rank.step, seconds, message, proven)
