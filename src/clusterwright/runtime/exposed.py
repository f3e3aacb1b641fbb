"""Exposed communication: the time in a step in which a rank has all its own gradients and waits for the others'.

Each rank measures its wait. The rank that waits least waits for no straggler, so the minimum over all ranks is the
time of the communication itself; ranks agree on it in their votes. Not measured: communication by the script
itself, and buffers broadcast before a forward pass. For models outside DistributedDataParallel only the reason
is reported (`status`): a sharded model waits within its forward and backward pass, where nothing is timed.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime.backward import Backward
from clusterwright.runtime.pace import OPEN, Mean
from clusterwright.runtime.services import names

# Whether it can be measured, or why not; texts are in the goodput accounting of the supervisor.
EXACT, SINGLE_RANK, SHARDED, STAGES, NOT_DDP = "measured", "alone", "sharded", "stages", "other"
BOUNDED = "bounded"  # measured on one rank alone: an upper bound, as it includes waiting for slower ranks
VOTE_KEY = "exposed"  # field of the vote
UNKNOWN_US = 1 << 50  # vote of a rank without a measured step, so that it is never the minimum


class Clock(Protocol):
    """Measures the time from `ready` to `complete` in each step."""

    def ready(self) -> None:
        """Record that this rank's own gradients are computed; the last call before `complete` counts."""

    def complete(self) -> None:
        """Record that the gradients of all ranks have been reduced."""

    def ended(self) -> list[float]:
        """End a step; return the waited seconds of each newly measured step. A step without `complete` has none."""


class Exposed:
    """Measures this rank's waits and accumulates the minimum that all ranks agree on."""

    def __init__(self, world_size: int, clock: Clock, ready: Callable[[], None] | None = None) -> None:
        self._world, self._clock, self._on_ready = world_size, clock, ready
        self._passes: list[Backward] = []
        self._unlike: set[str] = set()
        self._round = Mean()
        self._steps = self._voted_steps = 0  # since the last vote, and covered by it
        self._rank_us = UNKNOWN_US  # mean of the newest measured steps
        self._busy_s = self._counted_s = 0.0  # in all steps so far, at this vote and at the one before
        self._all_s = self._of_s = 0.0
        self._new = False

    def watch(self, item: Any) -> None:
        """Start to measure communication in backward passes of the DistributedDataParallel models in this object.

        A model without one is not measured, which `status` reports; objects that are not models are ignored.
        """
        if not isinstance(item, nn.Module):
            return
        ddp_models = [layer for layer in names.layers(item) if isinstance(layer, DistributedDataParallel)]
        self._passes += [
            Backward(ddp_model.module, self.ready, self._clock.complete) for ddp_model in ddp_models
        ]
        if not ddp_models:
            self._unlike.add(SHARDED if is_sharded(item) else NOT_DDP)

    def stages(self) -> None:
        """Mark the training as pipeline parallel, whose exposed communication is not measured."""
        self._unlike.add(STAGES)

    @property
    def status(self) -> str:
        """Return EXACT if exposed communication of all models is measured, else the reason why it is not.

        SINGLE_RANK for one rank.
        """
        if self._world == 1:
            return SINGLE_RANK
        reason = [reason for reason in (STAGES, SHARDED, NOT_DDP) if reason in self._unlike]
        return reason[0] if reason else EXACT if self._passes else NOT_DDP

    def ready(self) -> None:
        """Start measuring the wait for other ranks' gradients, and call the `ready` callback."""
        self._clock.ready()
        if self._on_ready:
            self._on_ready()

    def complete(self) -> None:
        """Stop measuring the wait for other ranks' gradients."""
        self._clock.complete()

    def stepped(self) -> None:
        """Count a completed optimizer step, and add the waits for other ranks measured since the last call."""
        self._steps += 1
        for backward_pass in self._passes:
            backward_pass.stepped()
        for seconds in self._clock.ended():
            self._round.add(seconds)

    def vote_fields(self, busy_s: float) -> dict[str, int]:
        """Return this rank's mean wait for other ranks, for the vote; empty for a single rank.

        Negated, as the maximum counts there; `busy_s`: total step seconds.
        """
        self._busy_s, self._voted_steps, self._steps = busy_s, self._steps, 0
        if self._world == 1:
            return {}
        if self._round.count:
            self._rank_us, self._round = int(self._round.value * 1e6), Mean()
        return {VOTE_KEY: -self._rank_us}

    def apply_vote(self, agreed: Mapping[str, int]) -> None:
        """Add the agreed minimum wait of the steps since the last vote to the total, if all models are measured."""
        least_us = -agreed.get(VOTE_KEY, -UNKNOWN_US)
        if least_us < UNKNOWN_US and self.status == EXACT:
            self._all_s += least_us / 1e6 * self._voted_steps
            self._of_s += self._busy_s - self._counted_s
            self._new = True
        self._counted_s = self._busy_s

    def event_fields(self) -> dict[str, float]:
        """Return total exposed and total step seconds for a step event, once per vote; empty otherwise."""
        new, self._new = self._new, False
        return {"communicated": self._all_s, "communicated_of": self._of_s} if new else {}

    def close(self) -> None:
        """Remove the hooks that measure waits from all models."""
        for backward_pass in self._passes:
            backward_pass.close()


class Processor:
    """A clock for CPU training, where the process itself waits."""

    def __init__(self) -> None:
        self._ready_at: float | None = None
        self._sum: float | None = None

    def ready(self) -> None:
        """Start the clock: this rank's own gradients are computed."""
        self._ready_at = time.monotonic()

    def complete(self) -> None:
        """Add the seconds since `ready` to the step's wait; do nothing without `ready`."""
        if self._ready_at is not None:
            self._sum, self._ready_at = (self._sum or 0.0) + time.monotonic() - self._ready_at, None

    def ended(self) -> list[float]:
        """Return the waited seconds of the step that has just ended, in a list; empty if not measured."""
        seconds, self._sum, self._ready_at = self._sum, None, None
        return [] if seconds is None else [seconds]


class CudaStream:
    """A clock of CUDA events: the CPU runs ahead of the GPU, so durations are available a few steps later."""

    def __init__(self, event: Callable[[], Any]) -> None:
        self._event = event
        self._from: Any = None
        self._step: list[tuple[Any, Any]] = []
        self._open: deque[list[tuple[Any, Any]]] = deque(maxlen=OPEN)

    def ready(self) -> None:
        """Record a CUDA event in the stream: this rank's own gradients are computed."""
        self._from = self._event()
        self._from.record()

    def complete(self) -> None:
        """Record a CUDA event after the reduction of gradients; do nothing without `ready`."""
        if self._from is not None:
            to = self._event()
            to.record()
            self._step.append((self._from, to))
            self._from = None

    def ended(self) -> list[float]:
        """Return the waited seconds of each step that the GPU has finished since the last call, without waiting.

        May be empty.
        """
        if self._step:
            self._open.append(self._step)
        self._step, durations = [], []
        while self._open and all(to.query() for _, to in self._open[0]):
            durations.append(sum(start.elapsed_time(to) for start, to in self._open.popleft()) / 1000)
        return durations


def clock(device: torch.device) -> Clock:
    """Return the clock for waits on a device: CUDA events for a GPU, else the host's clock."""
    event: Any = torch.cuda.Event
    return CudaStream(lambda: event(enable_timing=True)) if device.type == "cuda" else Processor()


def is_sharded(model: nn.Module) -> bool:
    """Return True if a model is sharded by FSDP or has a DTensor parameter, without importing either."""
    tensors = sys.modules.get("torch.distributed.tensor")
    older = sys.modules.get("torch.distributed.fsdp")
    kinds = tuple(
        fsdp_class for fsdp_class in (getattr(older, "FullyShardedDataParallel", None),) if fsdp_class
    )
    if any(isinstance(module, kinds) for module in model.modules()):
        return True
    kind = getattr(tensors, "DTensor", None)
    return kind is not None and any(isinstance(parameter, kind) for parameter in model.parameters())
