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
AGAIN_S = 30.0

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
    words: str
    proven: bool


class Inquiry:
    """One generation's; `now` is the supervisor's clock."""

    def __init__(self, members: Sequence[str]) -> None:
        self._members = frozenset(members)
        self._said: Dict[str, Tuple[float, List[Rank]]] = {}  # until when it holds
        self._asked: Dict[int, Rank] = {}
        self._asked_at = self._not_before = float("-inf")
        self._hung: List[Hung] = []
        self._everyone = self._excused = False

    def heard(self, host: str, ranks: Sequence[Mapping[str, Any]], again_s: float, now: float) -> None:
        """A host says that its ranks stand still, and will again so soon; without ranks, that they move."""
        self._said[host] = (
            now + again_s + LATE_S if ranks else now,
            [Rank(host=host, **one) for one in ranks],
        )

    def due(self, now: float) -> Dict[str, List[int]]:
        """Whom to have examined now: ranks of each host; mostly nobody."""
        if now < self._not_before or (self._asked and now < self._asked_at + ANSWER_S):
            return {}
        fresh = {host: said for host, (until, said) in self._said.items() if now < until}
        still = [rank for said in fresh.values() for rank in said]
        first = stopped(still) or (suspects(still) if self._members <= set(fresh) else [])
        chosen = first or overdue(still)
        self._asked, self._asked_at, self._hung = {each.rank: each for each in chosen}, now, []
        self._everyone, self._excused = not first, False
        asked: Dict[str, List[int]] = {}
        for each in chosen:
            asked.setdefault(each.host, []).append(each.rank)
        return asked

    def examined(self, findings: Sequence[Mapping[str, Any]], now: float) -> List[Hung]:
        """What was found on one host; who is hung, once that is enough to end the generation.

        Of suspects one is enough. When nobody was behind, all must be hung: one that works excuses those that wait.
        """
        for one in findings:
            rank = self._asked.pop(int(one["rank"]), None)
            if rank and one["verdict"] == "hung":
                self._hung.append(_hung(rank, one, now - self._asked_at))
            elif rank:
                self._excused = True
                self._not_before = now + min(AGAIN_S, max(1.0, rank.still_s))
        if self._everyone and (self._excused or self._asked):
            return []
        return self._hung


def stopped(still: Sequence[Rank]) -> List[Rank]:
    """Those that a signal has stopped for too long, whatever the others do."""
    return [each for each in still if each.state == stacks.STOPPED and each.still_s >= each.limit_s]


def suspects(still: Sequence[Rank]) -> List[Rank]:
    """Of all ranks of a generation, those that hold the others up for too long."""
    late = {each.rank for each in behind(still)}
    return [
        each
        for each in still
        if (each.rank in late or each.silent_s >= each.limit_s) and each.still_s >= each.allowed_s
    ]


def behind(still: Sequence[Rank]) -> List[Rank]:
    """Those that others wait for and that wait for nobody: fewer collectives in a group, or fewer steps."""
    most: Dict[str, int] = {}
    least: Dict[str, int] = {}
    for each in still:
        for group, number in each.groups.items():
            most[group] = max(number, most.get(group, number))
            least[group] = min(number, least.get(group, number))
    late = [each for each in still if any(number < most[group] for group, number in each.groups.items())]
    waiting = {
        each.rank for each in still if any(number > least[group] for group, number in each.groups.items())
    }
    first = [each for each in late if each.rank not in waiting] or late
    if first or any(each.groups for each in still):
        return first
    furthest = max((each.step for each in still), default=0)
    return [each for each in still if each.step < furthest]


def overdue(still: Sequence[Rank]) -> List[Rank]:
    """All of them, when one that is known to move has stood still for longer than everyone together may."""
    return list(still) if any(each.moves and each.still_s >= each.long_s for each in still) else []


def _hung(rank: Rank, finding: Mapping[str, Any], since_s: float) -> Hung:
    words, proven = str(finding["words"]), bool(finding["proven"])
    seconds = round(rank.still_s + since_s, 2)
    return Hung(rank.rank, rank.local_rank, rank.host, rank.step, seconds, words, proven)
