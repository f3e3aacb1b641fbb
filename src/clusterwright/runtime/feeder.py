"""Batches of a dataset, read ahead by as many processes as it takes.

How many is found out: the first steps are read by the rank itself, which tells how long a batch takes to read and how
long a step takes to train on. Which samples come in which step does not depend on it.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader

from clusterwright.runtime import meter
from clusterwright.runtime.data import Sampler
from clusterwright.runtime.events import Events
from clusterwright.runtime.shield import iterate

TRIAL = 6  # steps; the first ones load libraries and fill caches, and the median passes over them
IDLE = 0.01  # a share of the step that may be spent on reading before it is worth a process: half of what is owed
# What a batch out of another process takes the rank all the same: 1.0 ms of processor time for 64 small images
# (docs/decisions/0008-train.md), as long as reading them itself.
TRANSFER_S = 0.001
SPARE = 1.3  # readers are not equally quick, and share the host with others


class Feeder:
    """Batches for `run.steps`, as a DataLoader with this sampler would give them.

    `workers` says how many processes read; None finds out. `more` goes to the DataLoader (collate_fn, pin_memory).
    """

    def __init__(self, dataset: Any, sampler: Sampler, *, workers: int | None = None, **more: Any) -> None:
        self.batch_sampler, self.workers = sampler, workers
        self._dataset, self._more = dataset, more
        self.log: Events | None = None  # the run's
        self._source: Any = None

    @property
    def _workers(self) -> Any:
        """The processes that read now, by the name that a DataLoader's own iterator has for them."""
        return getattr(self._source, "_workers", ())

    def __iter__(self) -> Iterator[Any]:
        if self.workers is None:
            yield from self._measure()
        yield from self._read(self.workers or 0)

    def _measure(self) -> Iterator[Any]:
        """Some steps without processes, timed; then `workers` is chosen."""
        reads, steps = [], []
        source = iter(self._loader(0))
        for _ in range(TRIAL):
            begun = time.monotonic()
            batch = next(source)
            read = time.monotonic()
            yield batch
            reads.append(read - begun)
            steps.append(time.monotonic() - read)
        read_s, step_s, cpus = statistics.median(reads), statistics.median(steps), meter.cpus()
        self.workers = choose(read_s, step_s, cpus)
        if self.log:
            self.log.record("readers", workers=self.workers, read_s=read_s, train_s=step_s, cpus=cpus)

    def _read(self, workers: int) -> Iterator[Any]:
        self._source = iterate(self._loader(workers))
        yield from self._source

    def _loader(self, workers: int) -> DataLoader[Any]:
        # a DataLoader draws a number at each start: from a generator of its own, or the model's would move on
        generator = torch.Generator().manual_seed(0)
        return DataLoader(
            self._dataset,
            batch_sampler=self.batch_sampler,
            num_workers=workers,
            generator=generator,
            **self._more,
        )


def choose(read_s: float, train_s: float, cpus: int) -> int:
    """How many processes must read so that a step finds its batch ready; one processor is left to the rank."""
    if read_s <= max(IDLE * (read_s + train_s), TRANSFER_S):
        return 0
    needed = math.ceil(SPARE * read_s / max(train_s, 1e-6))
    return max(1, min(needed, cpus - 1))
