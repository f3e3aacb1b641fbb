"""The public interface of the runtime: `start` and the `Run` that it returns."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import nn

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.runtime import codes, events, group, meter, seeds, settings, slurm, state
from clusterwright.runtime.checkpoints.part import Chunk
from clusterwright.runtime.checkpoints.writer import SaveMoment
from clusterwright.runtime.feeder import Feeder
from clusterwright.runtime.progress import Progress
from clusterwright.runtime.reduction import Reduction
from clusterwright.runtime.replicas import replicas
from clusterwright.runtime.saving import Saving
from clusterwright.runtime.services import stream
from clusterwright.runtime.services.finite import Finite
from clusterwright.runtime.services.pause import Interruption, Pause
from clusterwright.runtime.services.services import Services
from clusterwright.runtime.services.verify import Loss, Verify
from clusterwright.runtime.shield import iterate
from clusterwright.runtime.stop import REGROUP
from clusterwright.runtime.sync_point import SyncPoint

T = TypeVar("T")


def start(  # noqa: PLR0913 (each is one setting, passed by keyword)
    *,
    seed: int = 0,
    folder: str | None = None,
    every: str | None = None,
    save_total_limit: int | None = None,
    parallel: Mapping[str, Any] | None = None,
    precision: str = "auto",
    on_nan: str = "stop",
    verify_every: int = 0,
    on_corruption: str = "stop",
) -> Run:
    """Join the process group, seed all random generators and return the run; a single process works too.

    `folder` holds the run's events and checkpoints, `every` (`steps:25`, `seconds:600`) is the checkpoint interval,
    `save_total_limit` the number of checkpoints retained, `parallel` the parallel layout as in a job file.
    Default: what the launcher has set; without a launcher nothing is saved and all ranks are replicas.
    `precision` is auto, bf16, fp16 or none. `on_nan` is stop, skip or ignore (see `finite`). Every
    `verify_every` steps replicas are compared (0: never); `on_corruption` is stop or continue.
    """
    slurm.adopt(os.environ)
    run_settings = settings.read(folder, every, save_total_limit, parallel=parallel, precision=precision)
    log = events.Events(run_settings.run, int(os.environ.get("RANK", "0")), run_settings.generation)
    log.write("process_start", pid=os.getpid(), started=events.process_started())
    joined = group.join()
    log.write("group_ready", world_size=joined.world_size)
    seeds.plant(seed)
    finite, verify = Finite(joined, log, on_nan), Verify(joined, log, verify_every, on_corruption)
    return Run(joined, run_settings, seed, log, (finite, verify))


class Run(Services):
    """One training, from its newest valid checkpoint to its end.

    `completed` is the number of optimizer steps done; `stopped` is the reason why the loop ended early, None if it
    did not.
    """

    def __init__(
        self,
        joined: group.Group,
        run_settings: settings.Settings,
        seed: int,
        log: events.Events,
        guards: tuple[Finite, Verify],
    ) -> None:
        super().__init__(joined, run_settings)
        self.completed = 0
        self.loss: float | None = None
        self.stopped: str | None = None
        self._group, self._seed, self._log = joined, seed, log
        self._finite, self._verify = guards
        self._progress = Progress()
        scaled = self.scaler.is_enabled()
        self._reduction = Reduction(self._tracked, log, os.environ, scaled=scaled)
        if self._reduction.parts and self._verify.every:
            raise ValueError(
                "verify_every compares replicas, which differ between outer steps: remove one of the two"
            )
        self._saving = Saving(joined, run_settings, self._tracked, log)
        self._replicas = replicas.begin(joined, run_settings.generation, (self._progress, log))
        self._sync_point = SyncPoint(joined, run_settings, self._saving, self._progress, self._replicas)
        self._interruption = Interruption(joined.store, self._sync_point.must_stop)
        self._stream: Any = None
        self._source: Any = None

    def track(self, **objects: Any) -> None:
        """Add objects to each checkpoint under their names: anything with `state_dict` and `load_state_dict`.

        They must be equal on all ranks, as in data-parallel training, or sharded as DTensors.
        Pass the DistributedDataParallel wrapper, not the model inside it.
        """
        self._tracked.add(**objects)
        for name, item in objects.items():
            self._reduction.add(name, item)
            if "pp" in self.dimensions:  # stages wait for each other and finish one after another
                self._sync_point.exposed.stages()
            else:
                self._sync_point.exposed.watch(item)

    def steps(self, batches: Iterable[T] | None = None, *, total_steps: int | None = None) -> Iterator[T]:
        """Resume from the newest valid checkpoint and yield one batch for each remaining step.

        The loop body calls `step(loss)` after `optimizer.step()`. Between two steps the ranks agree whether to
        save or to stop. A Sampler, a DataLoader with one as its `batch_sampler`, and batches with a
        `state_dict` are tracked automatically. Without batches, yields the number of completed steps.

        Raises:
            RuntimeError: the loop body called `step` not exactly once.
        """
        self._track_position(batches)
        with self._progress.paused():
            local_state = self._resume()
            self._reduction.begin(self.completed, total_steps, local_state)
        # a DataLoader draws a random number when iteration starts: restore random states after it
        source: Iterator[Any] = self._numbers() if batches is None else iterate(batches)
        self._source = source
        state.restore(local_state) if local_state else seeds.plant(self._seed, self.completed, self.rank)
        self._record_plan(total_steps, batches)
        self._progress.stepped(self.completed)
        self._sync_point.restart_clock()
        while not self.stopped and (total_steps is None or self.completed < total_steps):
            start_step = self.completed
            self._sync_point.begin(start_step + 1)
            self._meter.begin()
            try:
                batch = next(source)
            except StopIteration:
                return
            self._meter.fetched()
            self._sync_point.fetched()
            yield batch
            if self.completed != start_step + 1:
                raise RuntimeError(
                    f"the loop body called step() {self.completed - start_step} times instead of once"
                )
            self._sync_step(last=self.completed == total_steps)

    def step(self, loss: torch.Tensor | float, *, tokens: int | None = None) -> None:
        """Record a completed optimizer step, once per batch, on all ranks; advance the samplers.

        Rank 0 writes its loss, and the step's `tokens` if given, as an event.
        """
        self._reduction.stepped(self.completed + 1, self._sync_point.exposed)
        seconds = self._sync_point.stepped()
        self.completed += 1
        value = float(loss.item() if isinstance(loss, torch.Tensor) else loss)
        self._sync_point.not_finite |= self._finite.unseen(value, self.completed)
        samplers = self._tracked.samplers
        if self.rank == 0:
            self.loss = value
            epoch = samplers[0].epoch if samplers else None
            more = self._meter.step(self._tracked.optimizers, self._source)
            if tokens is not None:
                more["tokens"] = tokens
            self._log.soon(
                "step",
                step=self.completed,
                loss=value,
                seconds=seconds,
                epoch=epoch,
                busy=self._sync_point.busy_s,
                **self._sync_point.waited,
                **self._sync_point.exposed.event_fields(),
                **more,
            )
        for sampler in samplers:
            sampler.advance()
        self._progress.timed(self._sync_point.pace.rank_total_s, self._sync_point.waited_s)
        self._progress.stepped(self.completed)

    def finite(self, loss: torch.Tensor | float, norm: torch.Tensor | float | None = None) -> bool:
        """Return whether loss and norm are finite on all ranks: `if run.finite(loss, norm): optimizer.step()`.

        If not, `on_nan` decides: stop ends the training with exit code 65 before the weights are updated; skip returns
        False on all ranks, and the step counts without its update; ignore returns True without communication.
        The norm is not checked under fp16: its GradScaler causes such norms and skips those updates itself.
        """
        self._meter.norm(norm)
        if self._finite.policy == "ignore":
            return True
        scaled = self.scaler.is_enabled()
        problem = self._finite.check(
            self.completed + 1, float(loss), None if norm is None or scaled else float(norm)
        )
        if self._finite.stops(problem) and problem:
            self._exit(codes.Leaving(codes.NOT_FINITE, problem.message))
        return not problem

    def verify(self, model: nn.Module, loss_of: Loss, batch: Any) -> None:
        """Every `verify_every` steps, compute `loss_of(model, batch)` on all ranks with rank 0's batch; compare bits.

        Call it in each step on all ranks; in other steps it returns at once. `model` must be unsharded. If
        they differ, `on_corruption` decides: stop ends the training, continue logs it.
        """
        if self._verify.due(self.completed + 1):
            self._exit(self._verify.computing(self.completed + 1, model, loss_of, batch))

    @contextlib.contextmanager
    def pause(self, name: str) -> Iterator[Pause]:
        """Wrap work that is not training, such as an evaluation: it is timed and exempt from hang detection.

        `pause.over(loader)` ends early when a rank is asked to stop.
        """
        begun = time.monotonic()
        with self._progress.paused():
            yield Pause(self._interruption)
        self.record("pause", name=name, step=self.completed, seconds=time.monotonic() - begun)

    def measure(self, name: str, value: torch.Tensor | float, *, mean: bool = False) -> float:
        """Record a metric of the training and return it: rank 0's value, or with `mean` the mean over all ranks.

        The checkpoint with the lowest value is also retained if the job file has this name under `checkpoint.best`. A
        value measured after a rank was asked to stop is not recorded.
        """
        number = float(value)
        if mean:
            shared = torch.tensor([number], dtype=torch.float64)
            dist.all_reduce(shared, group=self._group.control)
            number = shared.item() / self.world_size
        if not self._interruption.check():
            finite_value = number if math.isfinite(number) else None  # JSON has no NaN
            self.record("measure", name=name, value=finite_value, step=self.completed)
            self._saving.record_measure(name, number)
        return number

    def record(self, event: str, **more: Any) -> None:
        """Write an event of the training script to the run's events, from rank 0 only."""
        self._log.record(event, **more)

    def passed_over(self, message: str) -> None:
        """Log an unreadable sample that another sample replaces: `Tolerant(data, report=run.passed_over)`.

        Called by whichever rank or worker reads it; the run's report counts each sample once.
        """
        events.log_line(message)
        self._log.write("bad_sample", message=message)

    def finish(self) -> None:
        """Save the last step, mark the training as finished unless it was stopped, and leave the process group.

        Exits with an error if the last save failed.
        """
        self._sync_point.settle()
        if self._replicas:
            self._replicas.close()
        if not self.stopped:
            self._save()
        with self._progress.paused():
            problem = self._saving.settle()
        if self.rank == 0 and not self.stopped and not problem:
            self._log.write("finished", step=self.completed, loss=self.loss)
            if self.folder:
                write_finished(self.folder, self.completed, self.loss)
        self._group.destroy()
        if problem and not self.stopped:
            sys.exit(f"cannot save the last checkpoint: {problem}")

    def _sync_step(self, *, last: bool) -> None:
        """At a step boundary, save and stop as the ranks agreed; after the last step there is nothing to stop."""
        agreed = self._sync_point.end(self.completed)
        if agreed.pace:
            self._sync_point.pace.report(self._log, self.completed)
        if agreed.stop and not last:
            self.stopped = agreed.stop
        saves = bool(self.stopped or agreed.save)
        self._check_weights(spoilt=agreed.not_finite, saves=saves or last)
        moment = SaveMoment(self.generation, self.completed)
        if saves and (agreed.save or self.stopped != REGROUP or not self._remembered(moment)):
            self._save()
        if not self.stopped and not last:
            self._saving.prepare(self._state)
        if self._replicas and not self.stopped and not last:
            self._replicas.run_round(moment, agreed.votes, self._part)
        if self.stopped:
            self.record("stopped", step=self.completed, reason=self.stopped)

    def _check_weights(self, *, spoilt: bool, saves: bool) -> None:
        """Exit instead of saving after a loss that was not finite, or if the weights of replicas differ.

        Losses are checked before a save (`saves`) and after one that was not finite (`spoilt`); replicas every
        `verify_every` steps and before a save, never if it is 0.
        """
        if (spoilt or saves) and (problem := self._finite.agreed()):
            self._exit(codes.Leaving(codes.NOT_FINITE, problem.message))
        if self._verify.due(self.completed) or (saves and self._verify.every):
            models = self._tracked.models
            self._exit(self._verify.weights(self.completed, models, self.dimensions))

    def _remembered(self, moment: SaveMoment) -> bool:
        """Copy this step to memory; return True if all hosts hold it: then no save to disk is needed."""
        with self._progress.paused():
            return bool(self._replicas and self._replicas.copy_before_exit(moment, self._part))

    def _part(self) -> Sequence[Chunk]:
        return self._saving.part(*self._state())

    def _save(self) -> None:
        self._log.flush()
        with self._progress.paused():
            self._saving.save(self.completed, *self._state())

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a checkpoint has besides the tracked objects: shared state and this rank's local state.

        The latter has random generators, gradient reduction and the position in the data.
        """
        local = {**state.capture(), **self._reduction.local()}
        if self._stream is not None:
            local["data"] = self._stream.state_dict()
        return {"loss": self.loss}, local

    def _exit(self, leaving: codes.Leaving | None) -> None:
        """Leave the process group and raise `leaving` on all ranks, without another save; do nothing if it is None."""
        if leaving is None:
            return
        self._saving.settle()
        self._group.destroy()
        events.log_line(leaving.message)
        if leaving.cause == codes.CORRUPT:
            time.sleep(codes.FIRST_S)
        raise leaving

    def _record_plan(self, total_steps: int | None, batches: Any) -> None:
        """Write the `plan` event before the first step: steps, batch, FLOPs, device, parameters.

        A `communication` event says whether exposed communication is measured.
        """
        if isinstance(batches, Feeder):
            self._source, batches.log = batches, self._log
        samplers = self._tracked.samplers
        self.record(
            "plan",
            step=self.completed,
            total_steps=total_steps,
            batch=samplers[0].batch if samplers else None,
            workers=meter.workers(self._source),
            flops=self.flops,
            **meter.plan(self.device, self._dtype, self._tracked.models),
        )
        self.record("communication", status=self._sync_point.exposed.status)

    def _track_position(self, batches: Any) -> None:
        sampler = stream.sampler(batches)
        if sampler and not self._tracked.contains(sampler):
            self.track(sampler=sampler)
        elif not sampler and batches is not None and not self._tracked.contains(batches):
            self._stream = stream.stream(batches)

    def _numbers(self) -> Iterator[int]:
        while True:
            yield self.completed

    def _resume(self) -> dict[str, Any] | None:
        """Load the newest valid checkpoint into the tracked objects, and set the run's step, loss and data position.

        Return this rank's local state, None if there is no checkpoint or the number of ranks has changed.
        """
        try:
            resumed = self._saving.resume()
        except codes.Leaving as leaving:
            self._exit(leaving)
            raise
        if self._replicas:
            self._replicas.resumed(resumed.step if resumed else 0, resumed.memory if resumed else None)
        if not resumed:
            return None
        self.completed, self.loss = resumed.step, resumed.run_state["loss"]
        if self._stream is not None:
            stream.restore_position(self._stream, resumed.step, resumed.local)
        return resumed.local


def write_finished(folder: Path, step: int, loss: float | None) -> None:
    """Write the run's step, loss and the time to finished.json in its folder, atomically."""
    loss_hex = None if loss is None else loss.hex()
    summary = {"step": step, "loss": loss, "loss_hex": loss_hex, "time": time.time()}
    write_atomic(folder / "finished.json", json.dumps(summary) + "\n", durable=False)
