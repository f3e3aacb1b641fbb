"""A run's saves: what a checkpoint of it holds, where one resumes, and who may still write."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.runtime.checkpoints.behind import Saved
from clusterwright.runtime.checkpoints.checkpoint import Checkpoints, Loaded, Skipped
from clusterwright.runtime.checkpoints.dealing import Dealer
from clusterwright.runtime.checkpoints.part import Chunk
from clusterwright.runtime.checkpoints.wanted import Wanted
from clusterwright.runtime.checkpoints.writer import Moment
from clusterwright.runtime.copies import restore
from clusterwright.runtime.events import Events
from clusterwright.runtime.group import Group
from clusterwright.runtime.settings import Settings
from clusterwright.runtime.tracked import OWN, Tracked


@dataclass(frozen=True)
class Resumed:
    """Where a run goes on; `local` is this rank's own state, None when the number of ranks has changed.

    `memory` says which copies it was read from, None for a checkpoint.
    """

    step: int
    own: dict[str, Any]
    local: dict[str, Any] | None
    memory: Moment | None


class Saving:
    """Saves what is tracked, and resumes it. All ranks call the same things at the same steps."""

    def __init__(self, joined: Group, given: Settings, tracked: Tracked, log: Events) -> None:
        self._group, self._given, self._tracked, self._log = joined, given, tracked, log
        self._dealer = Dealer(joined, tracked.buffers)
        self._checkpoints = (
            Checkpoints(
                given.checkpoints,
                joined,
                kept=given.keep,
                generation=given.generation,
                dealer=self._dealer,
                on_saved=self._on_saved,
            )
            if given.checkpoints
            else None
        )
        self._prepared = False
        self._step = 0
        self._at = time.monotonic()
        self.slowest_s = 0.0

    def restart_clock(self) -> None:
        """The steps begin now: the time until the first save counts from here."""
        self._at = time.monotonic()

    def overdue(self) -> bool:
        """Whether a save is due by this rank's clock."""
        seconds = self._given.every.seconds
        return bool(seconds and time.monotonic() - self._at >= seconds)

    def due(self, step: int) -> bool:
        """Whether a save is due after this step."""
        steps = self._given.every.steps
        return bool(steps and step % steps == 0)

    def prepare(self, state: Callable[[], tuple[dict[str, Any], dict[str, Any]]]) -> None:
        """Once, when the state has all its tensors: begin what the first save would have to wait for."""
        if not self._prepared and self._checkpoints:
            own, local = state()
            self._checkpoints.prepare({**self._tracked.state(), OWN: own}, local)
        self._prepared = True

    def save(self, step: int, own: dict[str, Any], local: dict[str, Any]) -> None:
        """Begin to save this step unless it is saved, with the run's `own` words and this rank's `local` state."""
        self._leave_if_given_up()
        if not self._checkpoints or self._step == step:
            return
        seconds = self._checkpoints.save(step, {**self._tracked.state(), OWN: own}, local)
        self._at = time.monotonic()
        self._step = step
        self._log.record("checkpoint_staged", step=step, seconds=seconds)

    def measured(self, name: str, value: float) -> None:
        """A measure of the state as it is now; the one by which checkpoints are compared goes into the next save."""
        if self._checkpoints and name == self._given.best:
            self._checkpoints.measured(value)

    def settle(self) -> str | None:
        """Wait until the last save is on disk; what was in its way."""
        saved = self._checkpoints.close() if self._checkpoints else None
        return saved.why if saved else None

    def _on_saved(self, saved: Saved) -> None:
        """What went wrong is said, and the training goes on without; called in a thread, on rank 0."""
        self.slowest_s = max(self.slowest_s, saved.seconds)
        if saved.why:
            self._log.say(f"step {saved.step} is not saved: {saved.why}; the training goes on")
            self._log.record("checkpoint_failed", step=saved.step, why=saved.why)
        else:
            self._log.record("checkpoint", step=saved.step, seconds=saved.seconds, bytes=saved.bytes)

    def part(self, own: dict[str, Any], local: dict[str, Any]) -> Sequence[Chunk]:
        """What this rank would save now."""
        return self._dealer.chunks({**self._tracked.state(), OWN: own}, local)

    def resume(self) -> Resumed | None:
        """Load the newest good state, from memory or else from disk, into what is tracked; None where there is none."""
        begun = time.perf_counter()
        wanted = Wanted(self._tracked.objects, self._tracked.state())
        found, memory = self._recall(wanted)
        if not found and self._checkpoints:
            found, skipped = self._checkpoints.newest(wanted)
            self._say_skipped(found, skipped)
        elif not found:
            self._log.say("nothing is saved: neither the script nor a launcher gave a folder")
        if not found:
            return None
        self._tracked.take_over(found.step, found.shared)
        self._step = 0 if memory else found.step
        name = None if memory else f"step-{found.step:08d}"
        seconds = time.perf_counter() - begun
        self._log.write("restored", step=found.step, seconds=seconds, source="memory" if memory else "disk")
        self._log.write("resumed", step=found.step, seconds=seconds, checkpoint=name)
        return Resumed(found.step, found.shared[OWN], found.local, memory)

    def _recall(self, wanted: Wanted) -> tuple[Loaded | None, Moment | None]:
        """What the hosts remember; what is wrong with it is said, and the disk has the next word."""
        found, memory, problems = restore.newest(self._group, wanted)
        if problems:
            self._log.say(f"what is in memory is passed over: {problems[0]}")
            self._log.record("memory_bad", why=problems[0])
        return found, memory

    def _leave_if_given_up(self) -> None:
        """A newer generation trains: this one counts as dead and did not hear of it, so it may write nothing.

        The launcher makes `logs/GENERATION` before it starts one; no launcher, no generations.
        """
        newer = f"logs/{self._given.generation + 1}"
        if self._given.run and self._given.generation and (self._given.run / newer).exists():
            sys.exit(f"generation {self._given.generation} was given up: a newer one trains")

    def _say_skipped(self, found: Loaded | None, skipped: list[Skipped]) -> None:
        """Damage is passed over; a folder that cannot be read may be back soon: no reason to begin anew."""
        for each in skipped:
            self._log.say(f"checkpoint of step {each.step} is passed over: {each.why}")
            self._log.record("checkpoint_bad", step=each.step, why=each.why)
        if not found and any(not each.damaged for each in skipped):
            raise OSError(f"checkpoints are there and none can be read: {skipped[0].why}")
