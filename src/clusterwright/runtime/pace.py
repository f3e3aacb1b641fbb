"""Which rank the others wait for: each tells in the votes how long its own part of a step took.

A rank's own part ends where it would begin to wait for others: in DistributedDataParallel when its last gradient is
there, which nothing of another rank's has gone into; in every other layout already when its batch is there, since
ranks meet within the forward pass. So a slow GPU is seen in the first, and a slow reader in all of them.
On a GPU both moments are marked in its own stream, so the time is the GPU's: the processor is far ahead of it by then.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from clusterwright.runtime.events import Events, log_line

# A tenth: below it a step hardly gains, and processors of one kind differ by as much.
SLOW = 1.1
# Votes in which the same rank was last. Of two equal ranks one is, by chance, once in 128 such rows; the survey that
# follows asks for the mean over all of them, which chance does not move by a tenth.
ROW = 8
OPEN = 64  # steps that a GPU may be behind before the oldest are forgotten
CALM = 4 * ROW  # votes without a finding, after which a rank that was slow is so no longer


@dataclass(frozen=True)
class Slow:
    """One rank is behind: its own part of a step, and that of the middle one of the others."""

    rank: int
    seconds: float
    typical: float

    @property
    def ratio(self) -> float:
        """How many times as long it takes."""
        return self.seconds / self.typical if self.typical else 1.0


class Pace:
    """This rank's own part of its steps, and what all ranks learn from each other's.

    What is decided here follows from agreed votes alone, so that all ranks ask for a survey in the same one.
    """

    def __init__(self, rank: int, world_size: int, timer: GpuTimer | None = None) -> None:
        self._rank, self._world, self._timer = rank, world_size, timer
        self._began = self._rank_s = 0.0
        self._round, self._row = Mean(), Mean()
        self._suspect, self._times = -1, 0
        self._survey = False
        self._vote_count = 0  # votes since a rank was found slow
        self.slow: Slow | None = None
        self._previous_slow: Slow | None = None

    def begin(self) -> None:
        """A step begins."""
        self._began = time.monotonic()
        if self._timer:
            self._timer.begin()

    def fetched(self) -> None:
        """Its batch is there."""
        self._rank_s = time.monotonic() - self._began

    def ready(self) -> None:
        """From here on it waits for others, as exposed.py finds; of several such moments in a step the last counts."""
        self._rank_s = time.monotonic() - self._began
        if self._timer:
            self._timer.ready()

    def stepped(self) -> None:
        """It is complete."""
        of_gpu = self._timer.ended() if self._timer else None
        for rank_s in [self._rank_s] if of_gpu is None else of_gpu:
            self._round.add(rank_s)
            self._row.add(rank_s)

    def vote_fields(self) -> dict[str, int]:
        """What goes into the vote; the largest of each word holds."""
        if self._world == 1:
            return {}
        rank_us, self._round = int(self._round.value * 1e6), Mean()
        fields = {"slow": rank_us * self._world + self._rank, "quick": -rank_us}
        if self._survey:
            mean_us = int(self._row.value * 1e6)
            fields |= {f"own{rank}": mean_us if rank == self._rank else 0 for rank in range(self._world)}
        return fields

    def apply_vote(self, agreed: Mapping[str, int]) -> bool:
        """What all said; True when another rank is slow now, or another one than before, or none any more."""
        if "slow" not in agreed:
            return False
        self._vote_count += 1
        self._previous_slow = self.slow
        if f"own{self._rank}" in agreed:
            self._judge([agreed[f"own{rank}"] / 1e6 for rank in range(self._world)])
        else:
            self._suspects(agreed)
        if self.slow and self._vote_count > CALM:
            self.slow = None
        return _rank(self.slow) != _rank(self._previous_slow)

    def report(self, log: Events, step: int) -> None:
        """The rank that is slow says so itself, as it knows its host, and the one that was that it is over."""
        if self._rank == _rank(self._previous_slow):
            log.write("straggler", step=step, ratio=1.0, over=True)
        if self.slow and self._rank == self.slow.rank:
            rank_s, typical_s = self.slow.seconds, self.slow.typical
            log.write("straggler", step=step, ratio=self.slow.ratio, own=rank_s, typical=typical_s)
            log_line(
                f"rank {self._rank} is slow: {rank_s * 1000:.3g} ms of its own in a step, {typical_s * 1000:.3g} ms is"
                " what others take; all wait for it"
            )

    def _suspects(self, agreed: Mapping[str, int]) -> None:
        """Count how often the same rank was last; once in a while another one may be."""
        seconds, rank = divmod(agreed["slow"], self._world)
        late = seconds >= SLOW * -agreed["quick"] > 0
        if late and rank == self._suspect:
            self._times += 1
        elif self._times > 1:
            self._times -= 2
        elif late:
            self._suspect, self._times, self._row = rank, 1, Mean()
        self._survey = self._times >= ROW

    def _judge(self, seconds_by_rank: Sequence[float]) -> None:
        last = max(range(self._world), key=seconds_by_rank.__getitem__)
        typical = median(seconds for rank, seconds in enumerate(seconds_by_rank) if rank != last)
        if typical > 0 and seconds_by_rank[last] >= SLOW * typical:
            self.slow, self._vote_count = Slow(last, seconds_by_rank[last], typical), 0
        self._survey, self._times, self._row = False, 0, Mean()


class GpuTimer:
    """Where in a GPU's stream steps begin and their gradients are there; what lay between is known a little later."""

    def __init__(self, event: Callable[[], Any]) -> None:
        self._event = event
        self._begun: Any = None
        self._ready: Any = None
        self._open: deque[tuple[Any, Any]] = deque(maxlen=OPEN)
        self._used = False

    def begin(self) -> None:
        """A step begins."""
        self._begun, self._ready = self._event(), None
        self._begun.record()

    def ready(self) -> None:
        """Gradients will be there when the GPU comes to this place; of several pieces of a batch, the last counts."""
        self._ready, self._used = self._event(), True
        self._ready.record()

    def ended(self) -> list[float] | None:
        """Seconds of the steps with which the GPU is through, nobody waiting; None where nothing is ever marked."""
        if self._begun is not None and self._ready is not None:
            self._open.append((self._begun, self._ready))
        durations = []
        while self._open and self._open[0][1].query():
            begun, ready = self._open.popleft()
            durations.append(begun.elapsed_time(ready) / 1000)
        return durations if self._used else None


def create_timer(device: torch.device) -> GpuTimer | None:
    """For a GPU of CUDA's or ROCm's; a processor's own clock does otherwise."""
    event: Any = torch.cuda.Event
    return GpuTimer(lambda: event(enable_timing=True)) if device.type == "cuda" else None


def _rank(slow: Slow | None) -> int:
    return slow.rank if slow else -1


class Mean:
    """Of what was added so far; 0 of nothing."""

    def __init__(self) -> None:
        self._sum, self.count = 0.0, 0

    def add(self, value: float) -> None:
        """One more."""
        self._sum, self.count = self._sum + value, self.count + 1

    @property
    def value(self) -> float:
        """The mean."""
        return self._sum / self.count if self.count else 0.0
