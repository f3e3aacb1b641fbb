"""How much of a step is communication that nothing hides: gradients of others, waited for when one's own are there.

Each rank knows how long it waits; who waits least waits for nobody who is slow, so the least of all ranks is what
communication itself takes. It is agreed on in the votes, as everything is. What a script sends by itself, and buffers
that are sent before a forward pass, are not seen. Where ranks share weights otherwise than by DistributedDataParallel,
nothing is said but why (`known`): a sharded model waits in the middle of its computing, where no clock of ours is.
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

# What is known of it; the ledger has the words.
EXACT, SINGLE_RANK, SHARDED, STAGES, NOT_DDP = "measured", "alone", "sharded", "stages", "other"
BOUNDED = "bounded"  # of one rank alone: the time in which it waits for slower ones is in it
VOTE_KEY = "exposed"  # of the vote
UNKNOWN_US = 1 << 50  # says a rank that has measured no step, so that it is never the least


class Clock(Protocol):
    """Measures from `ready` to `complete`."""

    def ready(self) -> None:
        """Own gradients are there; of several such moments the last counts."""

    def complete(self) -> None:
        """Those of all ranks are."""

    def ended(self) -> list[float]:
        """Seconds of each step known by now; the newest has just ended. A step without `complete` is never known."""


class Exposed:
    """This rank's waits, and what all ranks agree on."""

    def __init__(self, world_size: int, clock: Clock, ready: Callable[[], None] | None = None) -> None:
        self._world, self._clock, self._on_ready = world_size, clock, ready
        self._passes: list[Backward] = []
        self._unlike: set[str] = set()
        self._round = Mean()
        self._steps = self._voted_steps = 0  # since the vote before, and what was told of in it
        self._rank_us = UNKNOWN_US  # the mean of the newest steps that are known
        self._busy_s = self._counted_s = 0.0  # of all steps, as told in this vote and in the one before
        self._all_s = self._of_s = 0.0
        self._new = False

    def watch(self, item: Any) -> None:
        """Measure this, too, if it is a model."""
        if not isinstance(item, nn.Module):
            return
        ddp_models = [layer for layer in names.layers(item) if isinstance(layer, DistributedDataParallel)]
        self._passes += [
            Backward(ddp_model.module, self.ready, self._clock.complete) for ddp_model in ddp_models
        ]
        if not ddp_models:
            self._unlike.add(SHARDED if is_sharded(item) else NOT_DDP)

    def stages(self) -> None:
        """Ranks are stages of a pipeline."""
        self._unlike.add(STAGES)

    @property
    def known(self) -> str:
        """MEASURED, or why it is not."""
        if self._world == 1:
            return SINGLE_RANK
        reason = [reason for reason in (STAGES, SHARDED, NOT_DDP) if reason in self._unlike]
        return reason[0] if reason else EXACT if self._passes else NOT_DDP

    def ready(self) -> None:
        """From here on this rank only waits for others; whoever asked to hear of it does."""
        self._clock.ready()
        if self._on_ready:
            self._on_ready()

    def complete(self) -> None:
        """It has waited."""
        self._clock.complete()

    def stepped(self) -> None:
        """An optimiser step is complete."""
        self._steps += 1
        for backward_pass in self._passes:
            backward_pass.stepped()
        for seconds in self._clock.ended():
            self._round.add(seconds)

    def vote_fields(self, busy_s: float) -> dict[str, int]:
        """What goes into the vote: the mean of a step, negative as the largest holds; all steps took `busy_s`."""
        self._busy_s, self._voted_steps, self._steps = busy_s, self._steps, 0
        if self._world == 1:
            return {}
        if self._round.count:
            self._rank_us, self._round = int(self._round.value * 1e6), Mean()
        return {VOTE_KEY: -self._rank_us}

    def apply_vote(self, agreed: Mapping[str, int]) -> None:
        """The least of all ranks counts for the steps since the vote before."""
        least_us = -agreed.get(VOTE_KEY, -UNKNOWN_US)
        if least_us < UNKNOWN_US and self.known == EXACT:
            self._all_s += least_us / 1e6 * self._voted_steps
            self._of_s += self._busy_s - self._counted_s
            self._new = True
        self._counted_s = self._busy_s

    def event_fields(self) -> dict[str, float]:
        """For a step's event, once for each vote: seconds so far, and of how many seconds in steps."""
        new, self._new = self._new, False
        return {"communicated": self._all_s, "communicated_of": self._of_s} if new else {}

    def close(self) -> None:
        """Nothing is measured any more."""
        for backward_pass in self._passes:
            backward_pass.close()


class Processor:
    """By the processor's own clock, where it waits itself."""

    def __init__(self) -> None:
        self._ready_at: float | None = None
        self._sum: float | None = None

    def ready(self) -> None:
        """Now."""
        self._ready_at = time.monotonic()

    def complete(self) -> None:
        """Now."""
        if self._ready_at is not None:
            self._sum, self._ready_at = (self._sum or 0.0) + time.monotonic() - self._ready_at, None

    def ended(self) -> list[float]:
        """Of the newest step."""
        seconds, self._sum, self._ready_at = self._sum, None, None
        return [] if seconds is None else [seconds]


class Stream:
    """By marks in a GPU's stream, of which the processor is far ahead; what lies between is known a little later."""

    def __init__(self, event: Callable[[], Any]) -> None:
        self._event = event
        self._from: Any = None
        self._step: list[tuple[Any, Any]] = []
        self._open: deque[list[tuple[Any, Any]]] = deque(maxlen=OPEN)

    def ready(self) -> None:
        """When the GPU comes to this place."""
        self._from = self._event()
        self._from.record()

    def complete(self) -> None:
        """When it comes to this one, which is behind the gradients of others."""
        if self._from is not None:
            to = self._event()
            to.record()
            self._step.append((self._from, to))
            self._from = None

    def ended(self) -> list[float]:
        """Of those steps with which the GPU is through, nobody waiting."""
        if self._step:
            self._open.append(self._step)
        self._step, durations = [], []
        while self._open and all(to.query() for _, to in self._open[0]):
            durations.append(sum(start.elapsed_time(to) for start, to in self._open.popleft()) / 1000)
        return durations


def clock(device: torch.device) -> Clock:
    """The one that sees this device wait."""
    event: Any = torch.cuda.Event
    return Stream(lambda: event(enable_timing=True)) if device.type == "cuda" else Processor()


def is_sharded(model: nn.Module) -> bool:
    """Whether ranks hold parts of it; asked without importing what nobody has made one with."""
    tensors = sys.modules.get("torch.distributed.tensor")
    older = sys.modules.get("torch.distributed.fsdp")
    kinds = tuple(
        fsdp_class for fsdp_class in (getattr(older, "FullyShardedDataParallel", None),) if fsdp_class
    )
    if any(isinstance(module, kinds) for module in model.modules()):
        return True
    kind = getattr(tensors, "DTensor", None)
    return kind is not None and any(isinstance(parameter, kind) for parameter in model.parameters())
