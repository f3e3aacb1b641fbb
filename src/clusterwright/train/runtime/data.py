"""Which samples a step trains on: one endless order for all ranks, whatever their number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist

from clusterwright.train.runtime.seeds import derive


class Sampler:
    """Deals each step's `batch` samples out to the ranks; an epoch takes each sample once, shuffled.

    The order follows from the seed alone. A batch that an epoch cannot fill goes on in the next, so no sample
    is dropped and every step has `batch` of them. Its position is the number of samples trained on, so a run
    resumed on more or fewer ranks neither repeats nor skips one. When the ranks do not divide the batch, the
    first ones get one sample more: weigh a rank's loss by its samples, as the recipes do, not by its mean.

    Iterating yields this rank's sample numbers, a list for each step, from the position on; a torch
    DataLoader takes it as its `batch_sampler`. Only `advance` moves the position: what a loader has fetched
    ahead is not lost.
    """

    def __init__(self, size: int, *, batch: int, seed: int = 0, shuffle: bool = True) -> None:
        if size < 1 or batch < 1:
            raise ValueError(f"{size} samples in batches of {batch}: both must be at least 1")
        self.size, self.batch, self.seed, self.shuffle = size, batch, seed, shuffle
        self.consumed = 0
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    @property
    def epoch(self) -> int:
        """How many times all samples have been seen."""
        return self.consumed // self.size

    def advance(self) -> None:
        """One step is complete."""
        self.consumed += self.batch

    def __iter__(self) -> Iterator[list[int]]:
        rank, ranks = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        start = self.consumed
        while True:
            yield [self.sample(start + index) for index in range(rank, self.batch, ranks)]
            start += self.batch

    def sample(self, position: int) -> int:
        """The sample at a position of the endless order."""
        epoch, index = divmod(position, self.size)
        if not self.shuffle:
            return index
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(derive(self.seed, epoch))
            self._epoch, self._order = epoch, torch.randperm(self.size, generator=generator)
        return int(self._order[index])

    def state_dict(self) -> dict[str, Any]:
        """The position, and what it is a position in."""
        return {"consumed": self.consumed, "size": self.size, "seed": self.seed, "shuffle": self.shuffle}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position; refused when the order is another than the one it was taken in."""
        for name in ("size", "seed", "shuffle"):
            if state[name] != getattr(self, name):
                raise ValueError(
                    f"the checkpoint was made with {name}={state[name]}, this run has {name}="
                    f"{getattr(self, name)}: samples would be repeated or skipped"
                )
        self.consumed = state["consumed"]
