"""The face of the runtime: what a training script sees."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import torch
from torch.nn.parallel import DistributedDataParallel

from clusterwright.train.runtime import events, group, seeds, settings, slurm, state
from clusterwright.train.runtime.checkpoint import Checkpoints, Loaded, Skipped
from clusterwright.train.runtime.data import Sampler
from clusterwright.train.runtime.stop import REASONS, Vote, Wish

T = TypeVar("T")


def start(
    *, seed: int = 0, folder: str | None = None, every: str | None = None, keep: int | None = None
) -> Run:
    """Join the other ranks, seed everything, and say so in the run's events; works for a lone process too.

    `folder` is where the run keeps events and checkpoints, `every` (`steps:25`, `seconds:600`) how often it
    saves, `keep` how many checkpoints it keeps. Left out, the launcher says so; without a launcher, nothing
    is saved.
    """
    slurm.adopt(os.environ)
    given = settings.read(folder, every, keep)
    log = events.Events(given.run, int(os.environ.get("RANK", "0")), given.generation)
    log.write("process_start", started=events.process_started())
    joined = group.join()
    log.write("group_ready", world_size=joined.world_size)
    seeds.plant(seed)
    return Run(joined, given, seed, log)


class Run:
    """One training, from its newest good checkpoint to its end.

    `completed` is the number of optimiser steps done; `stopped` says why the loop ended early, None if it did
    not.
    """

    def __init__(self, joined: group.Group, given: settings.Settings, seed: int, log: events.Events) -> None:
        self.rank, self.local_rank, self.world_size = joined.rank, joined.local_rank, joined.world_size
        self.device, self.folder = joined.device, given.run
        self.completed = 0
        self.loss: float | None = None
        self.stopped: str | None = None
        self._group, self._given, self._seed, self._events = joined, given, seed, log
        self._tracked: dict[str, Any] = {}
        self._wish, self._vote = Wish(given.run, given.deadline), Vote(joined)
        self._checkpoints = (
            Checkpoints(given.checkpoints, joined, kept=given.keep, generation=given.generation)
            if given.checkpoints
            else None
        )
        self._saved_step = 0
        self._saved_at = self._step_began = time.monotonic()
        self._save_seconds = self._step_seconds = 0.0

    def track(self, **objects: Any) -> None:
        """Save and resume these, each under its name: anything with `state_dict` and `load_state_dict`.

        They must be the same on all ranks, as the parts of data-parallel training are.
        """
        for name, each in objects.items():
            if name == "run" or not hasattr(each, "state_dict") or not hasattr(each, "load_state_dict"):
                raise TypeError(
                    f"track({name}={type(each).__name__}): it needs state_dict and load_state_dict, "
                    f"and a name that is not `run`"
                )
            self._tracked[name] = each.module if isinstance(each, DistributedDataParallel) else each

    def steps(self, batches: Iterable[T], *, until: int | None = None) -> Iterator[T]:
        """One batch for each step that is left, beginning where the newest good checkpoint ends.

        The body calls `step(loss)` when the optimiser has stepped. Between two bodies the ranks agree whether
        to save or to leave. A Sampler, or a DataLoader with one as its `batch_sampler`, is tracked by itself.
        """
        sampler = getattr(batches, "batch_sampler", batches)
        if isinstance(sampler, Sampler) and not any(each is sampler for each in self._tracked.values()):
            self.track(sampler=sampler)
        own = self._resume()
        source = iter(
            batches
        )  # a DataLoader draws a random number here, at each start: states are put back after it
        state.put_back(own) if own else seeds.plant(self._seed, self.completed, self.rank)
        self._saved_at = self._step_began = time.monotonic()
        while not self.stopped and (until is None or self.completed < until):
            self._cast()
            before, self._step_began = self.completed, time.monotonic()
            try:
                batch = next(source)
            except StopIteration:
                return
            yield batch
            if self.completed != before + 1:
                raise RuntimeError(
                    f"the loop's body called step() {self.completed - before} times; it must once"
                )
            self._boundary(last=self.completed == until)

    def step(self, loss: torch.Tensor | float) -> None:
        """An optimiser step is complete; rank 0 writes the loss that it was given."""
        seconds = time.monotonic() - self._step_began
        self._step_seconds = max(self._step_seconds, seconds)
        self.completed += 1
        samplers = [each for each in self._tracked.values() if isinstance(each, Sampler)]
        if self.rank == 0:
            self.loss = float(loss.detach() if isinstance(loss, torch.Tensor) else loss)
            epoch = samplers[0].epoch if samplers else None
            self._events.write("step", step=self.completed, loss=self.loss, seconds=seconds, epoch=epoch)
        for each in samplers:
            each.advance()

    def record(self, event: str, **more: Any) -> None:
        """Write an event of the script's own, once, from rank 0."""
        if self.rank == 0:
            self._events.write(event, **more)

    def finish(self) -> None:
        """Save what is not saved, say that the training is complete unless it was stopped, and leave."""
        self._vote.count()
        problem = None if self.stopped else self._save()
        if self._checkpoints:
            self._checkpoints.settle()
        if self.rank == 0 and not self.stopped and not problem:
            self._write_finished()
        self._group.leave()
        if problem:
            sys.exit(f"the last checkpoint could not be saved: {problem}")

    def _cast(self) -> None:
        """Say what this rank wants; the clock that asks for a checkpoint is rank 0's."""
        seconds = self._given.every.seconds
        save = bool(self.rank == 0 and seconds and time.monotonic() - self._saved_at >= seconds)
        self._vote.cast(stop=self._wish.reason(self._step_seconds, self._save_seconds), save=save)

    def _boundary(self, *, last: bool) -> None:
        """Between two steps: save when it is time, leave when it was agreed; the last ends the run anyway."""
        stop, save = self._vote.count()
        steps = self._given.every.steps
        if stop and not last:
            self.stopped = REASONS[stop]
        if self.stopped or save or (steps and self.completed % steps == 0):
            self._save()
        if self.stopped:
            self.record("stopped", step=self.completed, why=self.stopped)

    def _save(self) -> str | None:
        """Save this step unless it is saved; what went wrong is said, and the training goes on without."""
        self._leave_if_given_up()
        if not self._checkpoints or self._saved_step == self.completed:
            return None
        shared = {name: each.state_dict() for name, each in self._tracked.items()}
        saved = self._checkpoints.save(self.completed, {**shared, "run": {"loss": self.loss}}, state.take())
        self._saved_at = time.monotonic()
        self._save_seconds = max(self._save_seconds, saved.seconds)
        if saved.why:
            self._say(f"step {self.completed} is not saved: {saved.why}; the training goes on")
            self.record("checkpoint_failed", step=self.completed, why=saved.why)
        else:
            self._saved_step = self.completed
            self.record("checkpoint", step=self.completed, seconds=saved.seconds, bytes=saved.bytes)
        return saved.why

    def _leave_if_given_up(self) -> None:
        """A newer generation trains: this one counts as dead and did not hear of it, so it may write nothing.

        The launcher makes `logs/GENERATION` before it starts one; no launcher, no generations.
        """
        newer = f"logs/{self._given.generation + 1}"
        if self.folder and self._given.generation and (self.folder / newer).exists():
            sys.exit(f"generation {self._given.generation} was given up: a newer one trains")

    def _resume(self) -> dict[str, Any] | None:
        """Load the newest good checkpoint into what is tracked; returns this rank's random states, if any."""
        if not self._checkpoints:
            self._say("nothing is saved: neither the script nor a launcher gave a folder")
            return None
        begun = time.perf_counter()
        found, skipped = self._checkpoints.newest()
        self._say_skipped(found, skipped)
        if not found:
            return None
        self._take_over(found)
        name = f"step-{found.step:08d}"
        seconds = time.perf_counter() - begun
        self._events.write("resumed", step=found.step, seconds=seconds, checkpoint=name)
        return found.local

    def _take_over(self, found: Loaded) -> None:
        missing = self._tracked.keys() - found.shared.keys()
        if missing:
            raise RuntimeError(
                f"step {found.step} was saved without {', '.join(sorted(missing))}, which is tracked now"
            )
        for name, each in self._tracked.items():
            each.load_state_dict(found.shared[name])
        self.completed = self._saved_step = found.step
        self.loss = found.shared["run"]["loss"]

    def _say_skipped(self, found: Loaded | None, skipped: list[Skipped]) -> None:
        """Damage is passed over; a folder that cannot be read may be back soon: no reason to begin anew."""
        for each in skipped:
            self._say(f"checkpoint of step {each.step} is passed over: {each.why}")
            self.record("checkpoint_bad", step=each.step, why=each.why)
        if not found and any(not each.damaged for each in skipped):
            raise OSError(f"checkpoints are there and none can be read: {skipped[0].why}")

    def _write_finished(self) -> None:
        """The word that the training is complete, whole or not at all."""
        self._events.write("finished", step=self.completed, loss=self.loss)
        if not self.folder:
            return
        loss_hex = None if self.loss is None else self.loss.hex()
        words = {"step": self.completed, "loss": self.loss, "loss_hex": loss_hex, "time": time.time()}
        scratch = self.folder / ".finished.json"
        scratch.write_text(json.dumps(words) + "\n")
        scratch.replace(self.folder / "finished.json")

    def _say(self, text: str) -> None:
        if self.rank == 0:
            events.say(text)
