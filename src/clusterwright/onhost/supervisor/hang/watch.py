"""Poll the progress pages of one host's ranks and report standstills."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from clusterwright.onhost.supervisor.hang import stacks
from clusterwright.onhost.supervisor.hang.envelope import STOPPED_S, Envelope, Limits
from clusterwright.onhost.supervisor.hang.progress import Page, ProgressSnapshot

POLL_INTERVAL_S = 0.2
# A standstill is reported repeatedly, and expires at the supervisor otherwise: at first twice a second, then less
# often, since a thousand hosts may wait while one of them saves.
REPORT_S, REPORT_MAX_S, REPORT_SHARE = 0.5, 10.0, 1 / 8
AT_ONCE = 1.5  # shorter standstills, in polls, contain several changes
LATE_S = 1.0  # an agent that got no CPU time itself cannot tell how long ranks stood still


class Watched(NamedTuple):
    """A rank of this host that is watched: its number, process and progress page."""

    rank: int
    pid: int
    page: Page


class Stall(NamedTuple):
    """A report of a standstill, and the seconds until it is repeated; no ranks when it is over."""

    repeat_s: float
    ranks: List[Dict[str, Any]]


class Watch:
    """Watches the progress pages of one host's ranks, from `begin` on; `now` is the monotonic clock."""

    def __init__(self, hang: Union[str, float] = "auto") -> None:
        self.envelope = Envelope(hang)
        self._ranks: Tuple[Watched, ...] = ()
        self._timeout_factor = 1.0
        self._snapshots: Dict[int, ProgressSnapshot] = {}
        self._moved_at: Dict[int, float] = {}
        self._began: Dict[int, Tuple[int, int]] = {}
        self._polled_at = self._reported_stall_s = 0.0
        self._reported_at: Optional[float] = None

    def begin(self, ranks: Sequence[Watched], now: float, timeout_factor: float = 1) -> None:
        """Start to watch the ranks of a generation for a standstill, in place of earlier ones; with no ranks, stop.

        `timeout_factor` multiplies the time limits.
        """
        self._ranks, self._timeout_factor = tuple(ranks), timeout_factor
        self._snapshots = {member.rank: member.page.read() for member in ranks}
        self._moved_at = {member.rank: now for member in ranks}
        self._began = {
            rank: (snapshot.collectives, snapshot.step) for rank, snapshot in self._snapshots.items()
        }
        self._polled_at, self._reported_at = now, None
        self.envelope.begin()

    def due(self, now: float) -> Optional[float]:
        """Return the seconds until the next poll of the ranks' progress; None when there are no ranks."""
        return max(0.0, self._polled_at + POLL_INTERVAL_S - now) if self._ranks else None

    def poll(self, now: float) -> Optional[Stall]:
        """Read the ranks' progress pages; return a report for the supervisor if one is due, else None.

        Due is one when a standstill begins, lasts or ends.
        """
        late, self._polled_at = now - self._polled_at - POLL_INTERVAL_S, now
        if late > LATE_S:
            self._moved_at = {rank: moved_at + late for rank, moved_at in self._moved_at.items()}
        for member in self._ranks:
            self._note(member, now, is_first=member is self._ranks[0])
        stalled_s = max((self._stalled_s(member, now) for member in self._ranks), default=0.0)
        limits = self.envelope.limits(self._timeout_factor, stopped=self._stopped(now))
        if not self._is_report_due(stalled_s, now, limits):
            return None
        self._reported_at, self._reported_stall_s = now, stalled_s
        if stalled_s <= limits.straggler:
            self._reported_at = None
            return Stall(0.0, [])
        return Stall(_repeat_s(stalled_s), [self._rank_fields(member, now, limits) for member in self._ranks])

    def _is_report_due(self, stalled_s: float, now: float, limits: Limits) -> bool:
        """Return True when a standstill starts, ends, reaches the limit of all ranks, or is to be reported again."""
        if stalled_s <= limits.straggler or self._reported_at is None:
            return (stalled_s > limits.straggler) != (self._reported_at is not None)
        reached = self._reported_stall_s <= limits.everyone < stalled_s
        return reached or now - self._reported_at >= _repeat_s(self._reported_stall_s)

    def _note(self, member: Watched, now: float, *, is_first: bool) -> None:
        previous, snapshot = self._snapshots[member.rank], member.page.read()
        self._snapshots[member.rank] = snapshot
        if (snapshot.collectives, snapshot.step) == (previous.collectives, previous.step):
            return
        stalled_s, self._moved_at[member.rank] = now - self._moved_at[member.rank], now
        if is_first:
            seconds = _change_s(previous, snapshot, stalled_s)
            self.envelope.observe(seconds, stalled_s)

    def _stopped(self, now: float) -> bool:
        stalled_ranks = (member for member in self._ranks if self._stalled_s(member, now) > STOPPED_S)
        return any(stacks.state(member.pid) == stacks.STOPPED for member in stalled_ranks)

    def _stalled_s(self, member: Watched, now: float) -> float:
        return now - self._moved_at[member.rank]

    def _rank_fields(self, member: Watched, now: float, limits: Limits) -> Dict[str, Any]:
        snapshot = self._snapshots[member.rank]
        moves = self.envelope.expects or (snapshot.collectives, snapshot.step) != self._began[member.rank]
        return {
            "rank": member.rank,
            "local_rank": self._ranks.index(member),
            "step": snapshot.step,
            "phase": snapshot.phase,
            "stalled_s": round(self._stalled_s(member, now), 2),
            "heartbeat_age_s": round(now - (snapshot.life or now), 2),
            "state": stacks.state(member.pid),
            "groups": snapshot.groups,
            "moves": moves,
            "limit_s": limits.straggler,
            "long_s": limits.everyone,
        }


def _repeat_s(stalled_s: float) -> float:
    return min(REPORT_MAX_S, max(REPORT_S, stalled_s * REPORT_SHARE))


def _change_s(previous: ProgressSnapshot, snapshot: ProgressSnapshot, stalled_s: float) -> float:
    """Return the seconds of one step or collective between two readings of a rank's progress.

    Exact where the script reports its steps. Otherwise the standstill divided by the steps or collectives in it; a long
    one counts whole.
    """
    steps = snapshot.step - previous.step
    if steps > 0 and previous.moved and snapshot.moved > previous.moved:
        return (snapshot.moved - previous.moved) / steps
    if steps > 0:
        return stalled_s / steps
    if stalled_s > AT_ONCE * POLL_INTERVAL_S:
        return stalled_s
    return stalled_s / max(1, snapshot.collectives - previous.collectives)
