"""Straggler detection: ranks share in their votes how long their own part of a step took.

A rank's own part ends before it first waits for others: in DistributedDataParallel when its last gradient is
computed, before any reduction; in every other layout when its batch has arrived, since ranks communicate within
the forward pass. So a slow GPU is detected under DistributedDataParallel only, a slow data loader in all layouts.
On a GPU, CUDA events mark both moments, so the time is the GPU's: the CPU is far ahead of it by then.
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

# A tenth: below it a step hardly gains, and devices of one model differ by as much.
SLOW = 1.1
# Consecutive votes in which the same rank was slowest. With two equal ranks that happens by chance in 1 of 128 rows;
# the survey that follows compares the means over the row, which chance does not move by a tenth.
ROW = 8
OPEN = 64  # steps that a GPU may lag behind before the oldest measurements are dropped
CALM = 4 * ROW  # votes without a finding after which a straggler counts as recovered
MOVED = 1.1  # change of a straggler's ratio that is reported anew: a host that degrades is found at 1.1 and gets worse


@dataclass(frozen=True)
class Slow:
    """A straggler: the seconds of its own part of a step, and the median of the other ranks."""

    rank: int
    seconds: float
    typical: float

    @property
    def ratio(self) -> float:
        """Return the straggler's time divided by the median of the other ranks; 1 if that is 0."""
        return self.seconds / self.typical if self.typical else 1.0


class Pace:
    """Measures this rank's own part of its steps and finds the straggler among all ranks.

    Decisions depend on agreed votes alone, so that all ranks start a survey in the same vote.
    """

    def __init__(self, rank: int, world_size: int, timer: GpuTimer | None = None) -> None:
        self._rank, self._world, self._timer = rank, world_size, timer
        self._began = self._rank_s = 0.0
        self.rank_total_s = 0.0  # this rank's own parts of all steps so far
        self._round, self._row = Mean(), Mean()
        self._suspect, self._times = -1, 0
        self._survey = False
        self._vote_count = 0  # votes since a rank was found slow
        self._news_count = 0  # votes since the last news
        self.slow: Slow | None = None
        self._reported_slow: Slow | None = None  # at the last news
        self._previous_slow: Slow | None = None  # at the news before it

    def begin(self) -> None:
        """Start the clock of a step, and the GPU timer if there is one; called before the step."""
        self._began = time.monotonic()
        if self._timer:
            self._timer.begin()

    def fetched(self) -> None:
        """Record that the step's batch has arrived: the end of this rank's own part until `ready` is called."""
        self._rank_s = time.monotonic() - self._began

    def ready(self) -> None:
        """Record that the last local gradient is computed (called by exposed.py); the last call in a step counts."""
        self._rank_s = time.monotonic() - self._began
        if self._timer:
            self._timer.ready()

    def stepped(self) -> None:
        """Add this rank's own part of the finished steps to its means."""
        of_gpu = self._timer.ended() if self._timer else None
        for rank_s in [self._rank_s] if of_gpu is None else of_gpu:
            self.rank_total_s += rank_s
            self._round.add(rank_s)
            self._row.add(rank_s)

    def vote_fields(self) -> dict[str, int]:
        """Return this rank's fields of the vote about stragglers, and begin a new mean of its step times.

        The maximum over all ranks counts. Empty for a single rank.
        """
        if self._world == 1:
            return {}
        rank_us, self._round = int(self._round.value * 1e6), Mean()
        fields = {"slow": rank_us * self._world + self._rank, "quick": -rank_us}
        if self._survey:
            mean_us = int(self._row.value * 1e6)
            fields |= {f"own{rank}": mean_us if rank == self._rank else 0 for rank in range(self._world)}
        return fields

    def apply_vote(self, agreed: Mapping[str, int]) -> bool:
        """Set the straggler by the agreed vote; return True if it changed, appeared, recovered, or its ratio moved.

        False without a vote.
        """
        if "slow" not in agreed:
            return False
        self._vote_count += 1
        self._news_count += 1
        if f"own{self._rank}" in agreed:
            self._judge([agreed[f"own{rank}"] / 1e6 for rank in range(self._world)])
        else:
            self._suspects(agreed)
        if self.slow and self._vote_count > CALM:
            self.slow = None
        if not self._has_news():
            return False
        self._previous_slow, self._reported_slow, self._news_count = self._reported_slow, self.slow, 0
        return True

    def report(self, log: Events, step: int) -> None:
        """Write `straggler` events to the log: a rank that became one, and one that recovered, each write their own.

        So the event carries the host. The straggler also writes a line to its log.
        """
        if self._rank == _rank(self._previous_slow) != _rank(self.slow):
            log.write("straggler", step=step, ratio=1.0, over=True)
        if self.slow and self._rank == self.slow.rank:
            rank_s, typical_s = self.slow.seconds, self.slow.typical
            log.write("straggler", step=step, ratio=self.slow.ratio, own=rank_s, typical=typical_s)
            log_line(
                f"rank {self._rank} is a straggler: it computes {rank_s * 1000:,.1f} ms per step, the other ranks"
                f" {typical_s * 1000:,.1f} ms (median); all ranks wait for it"
            )

    def _has_news(self) -> bool:
        """Return True for another straggler than reported, or for another ratio, at most once in CALM votes."""
        if _rank(self.slow) != _rank(self._reported_slow):
            return True
        if not self.slow or not self._reported_slow or self._news_count < CALM:
            return False
        moved = self.slow.ratio / self._reported_slow.ratio
        return not 1 / MOVED < moved < MOVED

    def _suspects(self, agreed: Mapping[str, int]) -> None:
        """Count how often one rank was slowest in votes, by at least 10%; a vote in which it was not subtracts two.

        From 8 counts on, the next votes survey the times of all ranks.
        """
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
    """Measures with CUDA events the time from a step's start to its last gradient, without synchronizing."""

    def __init__(self, event: Callable[[], Any]) -> None:
        self._event = event
        self._begun: Any = None
        self._ready: Any = None
        self._open: deque[tuple[Any, Any]] = deque(maxlen=OPEN)
        self._used = False

    def begin(self) -> None:
        """Record a CUDA event at the start of a step in the stream."""
        self._begun, self._ready = self._event(), None
        self._begun.record()

    def ready(self) -> None:
        """Record the last gradient in the stream; with several microbatches the last call counts."""
        self._ready, self._used = self._event(), True
        self._ready.record()

    def ended(self) -> list[float] | None:
        """Return the seconds of steps that the GPU has finished, without waiting; None if `ready` was never called."""
        if self._begun is not None and self._ready is not None:
            self._open.append((self._begun, self._ready))
        durations = []
        while self._open and self._open[0][1].query():
            begun, ready = self._open.popleft()
            durations.append(begun.elapsed_time(ready) / 1000)
        return durations if self._used else None


def create_timer(device: torch.device) -> GpuTimer | None:
    """Return a timer for a GPU (CUDA or ROCm), None for a CPU, where the host clock is exact."""
    event: Any = torch.cuda.Event
    return GpuTimer(lambda: event(enable_timing=True)) if device.type == "cuda" else None


def _rank(slow: Slow | None) -> int:
    return slow.rank if slow else -1


class Mean:
    """A running mean; 0 without values."""

    def __init__(self) -> None:
        self._sum, self.count = 0.0, 0

    def add(self, value: float) -> None:
        """Add a value to the running mean."""
        self._sum, self.count = self._sum + value, self.count + 1

    @property
    def value(self) -> float:
        """Return the mean of the values so far; 0 without values."""
        return self._sum / self.count if self.count else 0.0
