"""The agreement of all ranks between two steps: continue, save or stop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from clusterwright.runtime.exposed import Exposed, clock
from clusterwright.runtime.group import Group
from clusterwright.runtime.pace import Pace, create_timer
from clusterwright.runtime.progress import Progress
from clusterwright.runtime.replicas.replicas import Replicas
from clusterwright.runtime.saving import Saving
from clusterwright.runtime.settings import Settings
from clusterwright.runtime.stop import REASONS, REGROUP, StopRequest, Vote

# An asynchronous vote is counted one step late, which after a signal can be too late when steps are long.
# A synchronous one costs a network round trip, 0.1 to 0.5 ms: nothing in steps of a second.
_LONG_S = 1.0


@dataclass(frozen=True)
class Agreed:
    """What all ranks do now; `stop` is the reason to stop, empty to continue."""

    stop: str
    save: bool
    not_finite: bool
    votes: Mapping[str, int]
    pace: bool = False  # the straggler has changed


_NOTHING = Agreed("", save=False, not_finite=False, votes={})


class SyncPoint:
    """Each rank votes when a step begins and does what all agreed on when it ends.

    Ranks vote in the steps that `Rounds` selects and in those with an in-memory checkpoint due.
    """

    def __init__(
        self,
        joined: Group,
        settings: Settings,
        saving: Saving,
        progress: Progress,
        replicas: Replicas | None = None,
    ) -> None:
        self._clock = joined.rank == 0
        self._saving, self._replicas = saving, replicas
        self._stop_request, self._vote = StopRequest(settings.run, settings.deadline, progress), Vote(joined)
        self.pace = Pace(joined.rank, joined.world_size, create_timer(joined.device))
        self.exposed = Exposed(joined.world_size, clock(joined.device), self.pace.ready)
        self._began = time.monotonic()
        self._rounds, self._voting = Rounds(), False
        self._last_s = self._slowest_s = self._round_s = 0.0
        self.busy_s = 0.0  # in all steps so far: a sum, so that a reader may sample a million step events
        # Likewise the time waited for data: on this rank, and on the rank that waited longest in each round.
        self.waited_s = self.waited_most_s = self._waited_reported_s = 0.0
        self._long = False
        self.not_finite = False

    def restart_clock(self) -> None:
        """Start the clocks of steps and checkpoints; called just before the first step."""
        self._began = time.monotonic()
        self._saving.restart_clock()

    def begin(self, step: int) -> None:
        """Start the clock of a step, and cast this rank's vote about stopping and saving if one is due.

        After steps of 1 s or more ranks vote at the end of a step instead.
        """
        self._voting = self._rounds.due(step) or bool(self._replicas and self._replicas.due(step))
        if self._voting and not self._long:
            self._cast()
        self._began = time.monotonic()
        self.pace.begin()

    def fetched(self) -> None:
        """Record that the step's batch has arrived, and add the time that it took to the total wait for data."""
        self.waited_s += time.monotonic() - self._began
        self.pace.fetched()

    @property
    def waited(self) -> dict[str, float]:
        """Return the total seconds waited for data: on this rank, and summed over each round's slowest rank."""
        return {"waited": self.waited_s, "waited_most": max(self.waited_s, self.waited_most_s)}

    def stepped(self) -> float:
        """Record a completed optimizer step; return its seconds."""
        self._last_s = time.monotonic() - self._began
        self._slowest_s = max(self._slowest_s, self._last_s)
        self._round_s = max(self._round_s, self._last_s)
        self.busy_s += self._last_s
        self.pace.stepped()
        self.exposed.stepped()
        return self._last_s

    def end(self, step: int) -> Agreed:
        """Count the ranks' vote after this step and return what all ranks do."""
        due = self._saving.due(step)
        if not self._voting:
            return replace(_NOTHING, save=True) if due else _NOTHING
        if self._long:
            self._cast()
        agreed = self._vote.count()
        slowest_s = agreed["slowest_us"] / 1e6
        self._long = slowest_s >= _LONG_S
        self._rounds.record(step, slowest_s)
        self.waited_most_s += agreed["waited_us"] / 1e6
        save = bool(agreed["save"]) or due
        pace = self.pace.apply_vote(agreed)
        self.exposed.apply_vote(agreed)
        return Agreed(REASONS[agreed["stop"]], save, bool(agreed["not_finite"]), agreed, pace)

    def must_stop(self) -> bool:
        """Return True if this rank has a reason to stop that cannot wait until the next step."""
        return self._stop_request.reason(self._slowest_s, self._saving.slowest_s) > REASONS.index(REGROUP)

    def settle(self) -> None:
        """Wait for an open vote of the ranks and drop its result."""
        self._vote.count()

    def _cast(self) -> None:
        """Cast this rank's vote about stopping, saving and others; only rank 0's clock requests checkpoints."""
        slowest_s, self._round_s = self._round_s, 0.0
        waited_s, self._waited_reported_s = self.waited_s - self._waited_reported_s, self.waited_s
        self._vote.cast(
            stop=self._stop_request.reason(self._slowest_s, self._saving.slowest_s),
            save=int(self._clock and self._saving.overdue()),
            slowest_us=int(slowest_s * 1e6),
            waited_us=int(waited_s * 1e6),
            not_finite=int(self.not_finite),
            **self.pace.vote_fields(),
            **self.exposed.vote_fields(self.busy_s),
            **(self._replicas.vote_fields() if self._replicas else {}),
        )


# When to vote depends on agreed values alone, never on a local clock: a vote without one rank never ends.


# A vote takes 0.1 to 0.2 ms of a rank's time (docs/log.md, 2026-11-22): in a quarter of a second less than 0.1 %.
_VOTE_INTERVAL_S = 0.25
# Steps may suddenly become long; then up to this many of them pass before the next vote.
_MOST = 16


class Rounds:
    """Selects the steps with a vote: every step when long, one per 0.25 s when short; the interval at most doubles."""

    def __init__(self) -> None:
        self._next, self._interval = 0, 1

    def due(self, step: int) -> bool:
        """Return True if the ranks vote during this step."""
        return step >= self._next

    def record(self, step: int, slowest_s: float) -> None:
        """Set the next step with a vote, given the slowest step since the last vote (0: none measured yet)."""
        interval = int(_VOTE_INTERVAL_S / slowest_s) if slowest_s else 1
        self._interval = max(1, min(2 * self._interval, interval, _MOST))
        self._next = step + self._interval
