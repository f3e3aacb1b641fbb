"""Looks at the pages of one host's ranks a few times a second, and says when they stand still for too long."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from clusterwright.onhost.supervisor.hang import stacks
from clusterwright.onhost.supervisor.hang.envelope import STOPPED_S, Envelope, Limits
from clusterwright.onhost.supervisor.hang.progress import Page, Shown

LOOK_S = 0.2
# A standstill is said again, and forgotten by the supervisor when it is not: at first twice a second, then more and
# more seldom, since a thousand hosts may stand still while one of them saves.
SAY_S, SAY_MOST_S, SAY_SHARE = 0.5, 10.0, 1 / 8
AT_ONCE = 1.5  # ranks that moved between two looks: several changes lie in one
LATE_S = 1.0  # an agent that was not let run itself does not know how long ranks stood still


class Watched(NamedTuple):
    """A rank of this host."""

    rank: int
    pid: int
    page: Page


class Still(NamedTuple):
    """What is said of a standstill, and after how many seconds it will be said again; no ranks when it is over."""

    again_s: float
    ranks: List[Dict[str, Any]]


class Watch:
    """The ranks of one generation, from `begin` on; `now` is the monotonic clock."""

    def __init__(self, hang: Union[str, float] = "auto") -> None:
        self.envelope = Envelope(hang)
        self._ranks: Tuple[Watched, ...] = ()
        self._patience = 1.0
        self._seen: Dict[int, Shown] = {}
        self._since: Dict[int, float] = {}
        self._began: Dict[int, Tuple[int, int]] = {}
        self._looked = self._said_stood = 0.0
        self._said: Optional[float] = None

    def begin(self, ranks: Sequence[Watched], now: float, patience: float = 1) -> None:
        """A generation begins on this host; with no ranks there is nothing to watch."""
        self._ranks, self._patience = tuple(ranks), patience
        self._seen = {each.rank: each.page.read() for each in ranks}
        self._since = {each.rank: now for each in ranks}
        self._began = {rank: (shown.collectives, shown.step) for rank, shown in self._seen.items()}
        self._looked, self._said = now, None
        self.envelope.begin()

    def due(self, now: float) -> Optional[float]:
        """Seconds until the next look; None when there is nothing to look at."""
        return max(0.0, self._looked + LOOK_S - now) if self._ranks else None

    def look(self, now: float) -> Optional[Still]:
        """What to tell the supervisor, if anything: what every rank of this host shows, or that they move again."""
        late, self._looked = now - self._looked - LOOK_S, now
        if late > LATE_S:
            self._since = {rank: since + late for rank, since in self._since.items()}
        for each in self._ranks:
            self._note(each, now, first=each is self._ranks[0])
        stood = max((self._stands(each, now) for each in self._ranks), default=0.0)
        limits = self.envelope.limits(self._patience, stopped=self._stopped(now))
        if not self._to_be_said(stood, now, limits):
            return None
        self._said, self._said_stood = now, stood
        if stood <= limits.behind:
            self._said = None
            return Still(0.0, [])
        return Still(_again_s(stood), [self._say(each, now, limits) for each in self._ranks])

    def _to_be_said(self, stood: float, now: float, limits: Limits) -> bool:
        """A standstill is said when it is one, now and then, and when the long limit is reached; and its end."""
        if stood <= limits.behind or self._said is None:
            return (stood > limits.behind) != (self._said is not None)
        reached = self._said_stood <= limits.everyone < stood
        return reached or now - self._said >= _again_s(self._said_stood)

    def _note(self, each: Watched, now: float, *, first: bool) -> None:
        before, shown = self._seen[each.rank], each.page.read()
        self._seen[each.rank] = shown
        if (shown.collectives, shown.step) == (before.collectives, before.step):
            return
        stood, self._since[each.rank] = now - self._since[each.rank], now
        if first:
            seconds = _seconds_each(before, shown, stood)
            self.envelope.saw(seconds, stood)

    def _stopped(self, now: float) -> bool:
        still = (each for each in self._ranks if self._stands(each, now) > STOPPED_S)
        return any(stacks.state(each.pid) == stacks.STOPPED for each in still)

    def _stands(self, each: Watched, now: float) -> float:
        return now - self._since[each.rank]

    def _say(self, each: Watched, now: float, limits: Limits) -> Dict[str, Any]:
        shown = self._seen[each.rank]
        moves = self.envelope.expects or (shown.collectives, shown.step) != self._began[each.rank]
        return {
            "rank": each.rank,
            "local_rank": self._ranks.index(each),
            "step": shown.step,
            "phase": shown.phase,
            "still_s": round(self._stands(each, now), 2),
            "silent_s": round(now - (shown.life or now), 2),
            "state": stacks.state(each.pid),
            "groups": shown.groups,
            "moves": moves,
            "limit_s": limits.behind,
            "long_s": limits.everyone,
        }


def _again_s(stood: float) -> float:
    return min(SAY_MOST_S, max(SAY_S, stood * SAY_SHARE))


def _seconds_each(before: Shown, shown: Shown, stood: float) -> float:
    """How long one change took: exactly, where the script shows its steps."""
    steps = shown.step - before.step
    if steps > 0 and before.moved and shown.moved > before.moved:
        return (shown.moved - before.moved) / steps
    if steps > 0:
        return stood / steps
    if stood > AT_ONCE * LOOK_S:
        return stood
    return stood / max(1, shown.collectives - before.collectives)
