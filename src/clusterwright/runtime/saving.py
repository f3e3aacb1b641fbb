"""Save and resume a run: what its checkpoints hold, when one is due, and which generation may write."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.runtime import codes
from clusterwright.runtime.checkpoints.async_saver import Saved
from clusterwright.runtime.checkpoints.checkpoint import Checkpoints, Loaded, Skipped
from clusterwright.runtime.checkpoints.dealing import Dealer
from clusterwright.runtime.checkpoints.part import Chunk
from clusterwright.runtime.checkpoints.target_state import TargetState
from clusterwright.runtime.checkpoints.writer import SaveMoment
from clusterwright.runtime.events import Events
from clusterwright.runtime.group import Group
from clusterwright.runtime.replicas import restore
from clusterwright.runtime.settings import Settings
from clusterwright.runtime.tracked import RUN_KEY, Tracked


@dataclass(frozen=True)
class Resumed:
    """The state from which a run continues; `local` is this rank's own, None when the number of ranks has changed.

    `memory` is the moment of the in-memory checkpoint that it was read from, None for one on disk.
    """

    step: int
    run_state: dict[str, Any]
    local: dict[str, Any] | None
    memory: SaveMoment | None


class Saving:
    """Saves and resumes the tracked objects. All ranks call the same methods at the same steps."""

    def __init__(self, joined: Group, settings: Settings, tracked: Tracked, log: Events) -> None:
        self._group, self._settings, self._tracked, self._log = joined, settings, tracked, log
        self._dealer = Dealer(joined, tracked.buffers)
        self._checkpoints = (
            Checkpoints(
                settings.checkpoints,
                joined,
                save_total_limit=settings.save_total_limit,
                generation=settings.generation,
                dealer=self._dealer,
                on_saved=self._on_saved,
            )
            if settings.checkpoints
            else None
        )
        self._prepared = False
        self._step = 0
        self._last_save = time.monotonic()
        self.slowest_s = 0.0

    def restart_clock(self) -> None:
        """Count the interval to the first checkpoint from now, when the first step begins."""
        self._last_save = time.monotonic()

    def overdue(self) -> bool:
        """Return True if a checkpoint is due by this rank's clock (`every: seconds:N`)."""
        seconds = self._settings.every.seconds
        return bool(seconds and time.monotonic() - self._last_save >= seconds)

    def due(self, step: int) -> bool:
        """Return True if a checkpoint is due after this step (`every: steps:N`)."""
        steps = self._settings.every.steps
        return bool(steps and step % steps == 0)

    def prepare(self, state: Callable[[], tuple[dict[str, Any], dict[str, Any]]]) -> None:
        """Start the slow part of the first checkpoint early, once, after the step that created all tensors.

        Collective. Later calls, and calls without a checkpoint folder, have no effect.
        """
        if not self._prepared and self._checkpoints:
            run_state, local = state()
            self._checkpoints.prepare({**self._tracked.state(), RUN_KEY: run_state}, local)
        self._prepared = True

    def save(self, step: int, run_state: dict[str, Any], local: dict[str, Any]) -> None:
        """Start to save this step, unless it is saved, with the shared `run_state` and this rank's `local` state.

        Exits if a newer generation has replaced this one.
        """
        self._exit_if_replaced()
        if not self._checkpoints or self._step == step:
            return
        seconds = self._checkpoints.save(step, {**self._tracked.state(), RUN_KEY: run_state}, local)
        self._last_save = time.monotonic()
        self._step = step
        self._log.record("checkpoint_staged", step=step, seconds=seconds)

    def record_measure(self, name: str, value: float) -> None:
        """Store a metric's value in the next checkpoint if it is the one that `best` names."""
        if self._checkpoints and name == self._settings.best:
            self._checkpoints.set_value(value)

    def settle(self) -> str | None:
        """Wait until the last checkpoint is on disk and close saving; return why it failed, None if it did not."""
        saved = self._checkpoints.close() if self._checkpoints else None
        return saved.reason if saved else None

    def _on_saved(self, saved: Saved) -> None:
        """Log a finished save, or its failure, after which the training continues; called in a thread on rank 0."""
        self.slowest_s = max(self.slowest_s, saved.seconds)
        if saved.reason:
            self._log.log_line(f"cannot save step {saved.step}: {saved.reason}; the training continues")
            self._log.record("checkpoint_failed", step=saved.step, reason=saved.reason)
        else:
            self._log.record("checkpoint", step=saved.step, seconds=saved.seconds, bytes=saved.bytes)

    def part(self, run_state: dict[str, Any], local: dict[str, Any]) -> Sequence[Chunk]:
        """Return the chunks of tensors that this rank would save now, as its part of a checkpoint; collective."""
        return self._dealer.chunks({**self._tracked.state(), RUN_KEY: run_state}, local)

    def resume(self) -> Resumed | None:
        """Load the newest valid state, from memory or else disk, into the tracked objects; None if there is none.

        The restore is logged, with its source (memory or disk) and its duration.

        Raises:
            Leaving: checkpoints exist and cannot be used: the run does not silently restart from step 0.
        """
        begun = time.perf_counter()
        target = TargetState(self._tracked.objects, self._tracked.state())
        loaded_state, memory, skipped = self._recall(target)
        if not loaded_state and self._checkpoints:
            loaded_state, on_disk = self._checkpoints.newest(target)
            self._report_skipped(on_disk)
            if not loaded_state:
                refuse_step_0(self._settings.checkpoints, skipped, on_disk)
        elif not loaded_state:
            self._log.log_line("checkpoints are off: neither the script nor a launcher has set a folder")
        if not loaded_state:
            return None
        self._tracked.load_state(loaded_state.step, loaded_state.shared)
        self._step = 0 if memory else loaded_state.step
        name = None if memory else f"step-{loaded_state.step:08d}"
        seconds = time.perf_counter() - begun
        self._log.write(
            "restored", step=loaded_state.step, seconds=seconds, source="memory" if memory else "disk"
        )
        self._log.write("resumed", step=loaded_state.step, seconds=seconds, checkpoint=name)
        return Resumed(loaded_state.step, loaded_state.shared[RUN_KEY], loaded_state.local, memory)

    def _recall(self, target: TargetState) -> tuple[Loaded | None, SaveMoment | None, list[Skipped]]:
        """Load the in-memory checkpoint on all ranks, or on none; return its state and moment, and the problems.

        Collective. State and moment are None if there is no such checkpoint or a rank failed; the first problem is
        logged.
        """
        loaded_state, memory, problems = restore.newest(self._group, target)
        if problems:
            self._log.log_line(f"skipping in-memory checkpoints: {problems[0].reason}")
            self._log.record("memory_bad", reason=problems[0].reason)
        return loaded_state, memory, problems

    def _exit_if_replaced(self) -> None:
        """Exit if a newer generation has started: this one was partitioned and must not write.

        The launcher creates `logs/GENERATION` before it starts one; without a launcher there are no generations.
        """
        newer = f"logs/{self._settings.generation + 1}"
        if self._settings.run and self._settings.generation and (self._settings.run / newer).exists():
            sys.exit(f"generation {self._settings.generation} was replaced: a newer one is running")

    def _report_skipped(self, skipped: list[Skipped]) -> None:
        for checkpoint in skipped:
            self._log.log_line(f"skipping the checkpoint of step {checkpoint.step}: {checkpoint.reason}")
            self._log.record("checkpoint_bad", step=checkpoint.step, reason=checkpoint.reason)


def refuse_step_0(folder: Path | None, in_memory: list[Skipped], on_disk: list[Skipped]) -> None:
    """Raise if checkpoints exist on disk, none of which could be loaded, or one in memory of another format.

    Return if the run may start from step 0.

    Raises:
        Leaving: they have another format, or all are damaged; a restart of the ranks changes neither.
        OSError: one cannot be read: its folder may return soon.
    """
    restart = f"to restart from step 0 instead: mv {folder} {folder}.unused"
    for checkpoint in (*on_disk, *in_memory):
        if checkpoint.other_format:
            fix = "continue the run with the version of Clusterwright that saved it"
            page = f"(wright explain {codes.CHECKPOINT_FORMAT})"
            raise codes.Leaving(codes.CHECKPOINT_FORMAT, f"{checkpoint.reason}. Fix: {fix}; {restart} {page}")
    for checkpoint in on_disk:
        if not checkpoint.damaged:
            raise OSError(f"none of the checkpoints can be read: {checkpoint.reason}")
    if on_disk:
        reasons = "; ".join(f"step {checkpoint.step}: {checkpoint.reason}" for checkpoint in on_disk)
        page = f"(wright explain {codes.CHECKPOINTS_UNUSABLE})"
        message = (
            f"none of the checkpoints in {folder} can be used. Fix: restore one of them; {restart} {page}"
        )
        raise codes.Leaving(codes.CHECKPOINTS_UNUSABLE, f"{message}: {reasons}")
