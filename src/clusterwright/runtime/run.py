"""The face of the runtime: what a training script sees."""

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
from clusterwright.runtime.checkpoints.writer import Moment
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


def start(  # noqa: PLR0913 (each is one setting, given by its name)
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
    """Join the other ranks, seed everything, and say so in the run's events; works for a lone process too.

    `folder` is where the run keeps events and checkpoints, `every` (`steps:25`, `seconds:600`) how often it
    saves, `save_total_limit` how many checkpoints it keeps, `parallel` how ranks are cut into groups, as in a job file.
    Left out, the launcher says so; without a launcher, nothing is saved, and all ranks are replicas.
    `precision` is auto, bf16, fp16 or none. `on_nan` is stop, skip or ignore (see `finite`). Each
    `verify_every` steps replicas are compared, 0 being never; `on_corruption` is stop or continue.
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
    """One training, from its newest good checkpoint to its end.

    `completed` is the number of optimiser steps done; `stopped` says why the loop ended early, None if it did
    not.
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
                "verify_every compares replicas, which part between outer steps: leave one of them out"
            )
        self._saving = Saving(joined, run_settings, self._tracked, log)
        self._replicas = replicas.begin(joined, run_settings.generation, (self._progress, log))
        self._sync_point = SyncPoint(joined, run_settings, self._saving, self._progress, self._replicas)
        self._interruption = Interruption(joined.store, self._sync_point.must_stop)
        self._stream: Any = None
        self._source: Any = None

    def track(self, **objects: Any) -> None:
        """Save and resume these, each under its name: anything with `state_dict` and `load_state_dict`.

        They must be the same on all ranks, as the parts of data-parallel training are, or sharded as DTensors.
        Of a model in DistributedDataParallel, track that, and not what is inside it.
        """
        self._tracked.add(**objects)
        for name, item in objects.items():
            self._reduction.add(name, item)
            if "pp" in self.dimensions:  # stages wait for each other, and end one after another
                self._sync_point.exposed.stages()
            else:
                self._sync_point.exposed.watch(item)

    def steps(self, batches: Iterable[T] | None = None, *, total_steps: int | None = None) -> Iterator[T]:
        """One batch for each step that is left, beginning where the newest good checkpoint ends.

        The body calls `step(loss)` when the optimiser has stepped. Between two bodies the ranks agree whether
        to save or to leave. A Sampler, or a DataLoader with one as its `batch_sampler`, is tracked by itself, and so
        are batches that have a state. Without batches, the body gets the number of steps that are complete.
        """
        self._track_position(batches)
        with self._progress.paused():
            local_state = self._resume()
            self._reduction.begin(self.completed, total_steps, local_state)
        # a DataLoader draws a random number here, at each start: states are put back after it
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
                    f"the loop's body called step() {self.completed - start_step} times; it must once"
                )
            self._sync_step(last=self.completed == total_steps)

    def step(self, loss: torch.Tensor | float, *, tokens: int | None = None) -> None:
        """An optimiser step is complete; rank 0 writes the loss that it was given, and `tokens` if there are any."""
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
        self._progress.stepped(self.completed)

    def finite(self, loss: torch.Tensor | float, norm: torch.Tensor | float | None = None) -> bool:
        """Whether this step's numbers are finite on all ranks: `if run.finite(loss, norm): optimizer.step()`.

        If not, `on_nan` says what happens: stop ends the training, with exit code 65, before the weights are spoilt;
        skip gives False on all ranks, and the step counts without its update; ignore gives True and asks nobody.
        A norm is not looked at while a scaler is at work, which makes such norms itself and skips their updates.
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
        """When it is time, compute `loss_of(model, batch)` on all ranks with rank 0's batch, and compare the bits.

        Call it each step, on all ranks; between two looks it returns at once. `model` must be whole on each rank.
        """
        if self._verify.due(self.completed + 1):
            self._exit(self._verify.computing(self.completed + 1, model, loss_of, batch))

    @contextlib.contextmanager
    def pause(self, name: str) -> Iterator[Pause]:
        """Around what is no training, such as an evaluation: it is timed, and not taken for a rank that hangs.

        `pause.over(loader)` ends early when a rank is asked to leave.
        """
        begun = time.monotonic()
        with self._progress.paused():
            yield Pause(self._interruption)
        self.record("pause", name=name, step=self.completed, seconds=time.monotonic() - begun)

    def measure(self, name: str, value: torch.Tensor | float, *, mean: bool = False) -> float:
        """Write down a number, rank 0's or with `mean` that of all ranks together; returns it.

        The checkpoint with the lowest one is kept too, if the job file has this name under `checkpoint.best`.
        What was measured while a rank was asked to leave is not counted.
        """
        number = float(value)
        if mean:
            shared = torch.tensor([number], dtype=torch.float64)
            dist.all_reduce(shared, group=self._group.control)
            number = shared.item() / self.world_size
        if not self._interruption.check():
            finite_value = number if math.isfinite(number) else None  # JSON knows no NaN
            self.record("measure", name=name, value=finite_value, step=self.completed)
            self._saving.record_measure(name, number)
        return number

    def record(self, event: str, **more: Any) -> None:
        """Write an event of the script's own, once, from rank 0."""
        self._log.record(event, **more)

    def passed_over(self, message: str) -> None:
        """A sample could not be read, and another one stands for it: `Tolerant(data, told=run.passed_over)`.

        Said by whichever rank or worker met it; the run's report counts each once.
        """
        events.log_line(message)
        self._log.write("bad_sample", words=message)

    def finish(self) -> None:
        """Save what is not saved, say that the training is complete unless it was stopped, and leave."""
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
            sys.exit(f"the last checkpoint could not be saved: {problem}")

    def _sync_step(self, *, last: bool) -> None:
        """Between two steps: save when it is time, leave when it was agreed; the last ends the run anyway."""
        agreed = self._sync_point.end(self.completed)
        if agreed.pace:
            self._sync_point.pace.report(self._log, self.completed)
        if agreed.stop and not last:
            self.stopped = agreed.stop
        saves = bool(self.stopped or agreed.save)
        self._check_weights(spoilt=agreed.not_finite, saves=saves or last)
        moment = Moment(self.generation, self.completed)
        if saves and (agreed.save or self.stopped != REGROUP or not self._remembered(moment)):
            self._save()
        if not self.stopped and not last:
            self._saving.prepare(self._state)
        if self._replicas and not self.stopped and not last:
            self._replicas.run_round(moment, agreed.votes, self._part)
        if self.stopped:
            self.record("stopped", step=self.completed, why=self.stopped)

    def _check_weights(self, *, spoilt: bool, saves: bool) -> None:
        """Weights that are spoilt, or differ between replicas, are not saved."""
        if (spoilt or saves) and (problem := self._finite.agreed()):
            self._exit(codes.Leaving(codes.NOT_FINITE, problem.message))
        if self._verify.due(self.completed) or (saves and self._verify.every):
            models = self._tracked.models
            self._exit(self._verify.weights(self.completed, models, self.dimensions))

    def _remembered(self, moment: Moment) -> bool:
        """Whether this step is in memory on all hosts: a generation that begins at once needs no more."""
        with self._progress.paused():
            return bool(self._replicas and self._replicas.copy_before_exit(moment, self._part))

    def _part(self) -> Sequence[Chunk]:
        return self._saving.part(*self._state())

    def _save(self) -> None:
        self._log.flush()
        with self._progress.paused():
            self._saving.save(self.completed, *self._state())

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The run's own words, and this rank's state."""
        local = {**state.capture(), **self._reduction.local()}
        if self._stream is not None:
            local["data"] = self._stream.state_dict()
        return {"loss": self.loss}, local

    def _exit(self, leaving: codes.Leaving | None) -> None:
        """All ranks leave where there is a reason, having saved nothing more."""
        if leaving is None:
            return
        self._saving.settle()
        self._group.destroy()
        events.log_line(leaving.message)
        if leaving.cause == codes.CORRUPT:
            time.sleep(codes.FIRST_S)
        raise leaving

    def _record_plan(self, until: int | None, batches: Any) -> None:
        """What the loop is about to do, with what is known of its cost."""
        if isinstance(batches, Feeder):
            self._source, batches.log = batches, self._log
        samplers = self._tracked.samplers
        self.record(
            "plan",
            step=self.completed,
            until=until,
            batch=samplers[0].batch if samplers else None,
            workers=meter.workers(self._source),
            flops=self.flops,
            **meter.plan(self.device, self._dtype, self._tracked.models),
        )
        self.record("communication", known=self._sync_point.exposed.known)

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
        """Go on where the newest good checkpoint ends; returns this rank's random states, if any."""
        resumed = self._saving.resume()
        if self._replicas:
            self._replicas.resumed(resumed.step if resumed else 0, resumed.memory if resumed else None)
        if not resumed:
            return None
        self.completed, self.loss = resumed.step, resumed.run_state["loss"]
        if self._stream is not None:
            stream.restore_position(self._stream, resumed.step, resumed.local)
        return resumed.local


def write_finished(folder: Path, step: int, loss: float | None) -> None:
    """Write finished.json, whole or not at all."""
    loss_hex = None if loss is None else loss.hex()
    summary = {"step": step, "loss": loss, "loss_hex": loss_hex, "time": time.time()}
    write_atomic(folder / "finished.json", json.dumps(summary) + "\n", durable=False)
