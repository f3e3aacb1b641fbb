"""A data loader that chooses its own number of worker processes.

The rank reads the batches of the first steps itself and times both reading and training. The order of samples does
not depend on the number of workers.
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

TRIAL = 6  # steps; the median ignores the first ones, which load libraries and fill caches
IDLE = 0.01  # share of a step spent on reading below which no worker is started
# The rank's cost of receiving a batch from a worker: 1.0 ms of CPU time for 64 small images
# (docs/decisions/0008-train.md), as long as reading them itself.
TRANSFER_S = 0.001
SPARE = 1.3  # workers differ in speed and share the host


class Feeder:
    """Yields batches for `run.steps`, like a DataLoader with this sampler.

    `workers` is the number of worker processes; None: measured in the first steps. `more` goes to the DataLoader
    (collate_fn, pin_memory).
    """

    def __init__(self, dataset: Any, sampler: Sampler, *, workers: int | None = None, **more: Any) -> None:
        self.batch_sampler, self.workers = sampler, workers
        self._dataset, self._more = dataset, more
        self.log: Events | None = None  # the run's
        self._source: Any = None

    @property
    def _workers(self) -> Any:
        """Return the worker processes, under the name that a DataLoader's iterator has for them; () without."""
        return getattr(self._source, "_workers", ())

    def __iter__(self) -> Iterator[Any]:
        if self.workers is None:
            yield from self._measure()
        yield from self._read(self.workers or 0)

    def _measure(self) -> Iterator[Any]:
        """Yield the first TRIAL batches, read without workers and timed; then choose the number of workers.

        That is set in `workers` and recorded as an event.
        """
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
        # a DataLoader draws a random number at each start: its own generator leaves the model's unchanged
        generator = torch.Generator().manual_seed(0)
        return DataLoader(
            self._dataset,
            batch_sampler=self.batch_sampler,
            num_workers=workers,
            generator=generator,
            **self._more,
        )


def choose(read_s: float, train_s: float, cpus: int) -> int:
    """Return how many worker processes keep batches ready, leaving one CPU to the rank; times are seconds per batch.

    0, reading in the rank itself, if a read takes at most 1 ms, or 1% of both.
    """
    if read_s <= max(IDLE * (read_s + train_s), TRANSFER_S):
        return 0
    needed = math.ceil(SPARE * read_s / max(train_s, 1e-6))
    return max(1, min(needed, cpus - 1))
