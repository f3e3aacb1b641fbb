"""The sampler of training batches: one endless order of samples that does not depend on the number of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist

from clusterwright.runtime.seeds import derive

_ORDER = ("size", "seed", "shuffle", "mixed", "data")  # what determines the order of samples


class Number(int):
    """A sample index that carries its epoch (services/samples.py derives seeds from it)."""

    epoch = 0


class Sampler:
    """Distributes each step's `batch` samples over the ranks; an epoch takes each sample once, shuffled.

    The order depends on the seed alone. A batch that the end of an epoch cannot fill continues in the next epoch, so
    no sample is dropped and every step has `batch` samples. The position is the number of samples trained on, so a
    run resumed on more or fewer ranks neither repeats nor skips one. When the number of ranks does not divide the
    batch, the first ranks get one sample more: weight a rank's loss by its samples, as the recipes do.
    Ranks that share a model or a sequence get the same samples: `replica` is (index, count) of this rank's replica;
    default: each rank is one.

    Iterating yields this rank's sample indices, one list per step, from the position on; a torch DataLoader
    takes it as its `batch_sampler`. Only `advance` moves the position, so samples prefetched by a loader are
    not lost.

    `blocks` are the sample counts of a dataset's files or row groups. They are shuffled in two passes: the blocks, then
    all samples of each `mixed` consecutive blocks; so reads stay mostly local.
    `data` is the fingerprint of the dataset: a run does not resume on another one.
    """

    def __init__(
        self,
        size: int,
        *,
        batch: int,
        seed: int = 0,
        shuffle: bool = True,
        blocks: Sequence[int] = (),
        mixed: int = 16,
        data: str = "",
        replica: tuple[int, int] | None = None,
    ) -> None:
        if size < 1 or batch < 1:
            raise ValueError(f"size={size}, batch={batch}: both must be at least 1")
        if blocks and (sum(blocks) != size or mixed < 1):
            raise ValueError(
                f"blocks hold {sum(blocks)} samples, mixed={mixed}: blocks must hold {size}, mixed be at least 1"
            )
        self.size, self.batch, self.seed, self.shuffle, self.replica = size, batch, seed, shuffle, replica
        self.blocks, self.mixed, self.data = tuple(blocks), mixed if blocks else 0, data
        self.consumed = 0
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    @classmethod
    def over(cls, dataset: Any, *, batch: int, seed: int = 0, shuffle: bool = True) -> Sampler:
        """Return a sampler over a dataset of `runtime.datasets`, with the dataset's blocks and fingerprint."""
        blocks = getattr(dataset, "blocks", ())
        return cls(
            len(dataset),
            batch=batch,
            seed=seed,
            shuffle=shuffle,
            blocks=blocks if len(blocks) > 1 else (),
            data=dataset.fingerprint,
        )

    @property
    def epoch(self) -> int:
        """Return the number of complete passes over all samples."""
        return self.consumed // self.size

    def advance(self) -> None:
        """Move the position in the order of samples by one step, `batch` samples."""
        self.consumed += self.batch

    def __iter__(self) -> Iterator[list[Number]]:
        rank, ranks = self.replica or _replica()
        start = self.consumed
        while True:
            yield self._samples(range(start + rank, start + self.batch, ranks))
            start += self.batch

    def sample(self, position: int) -> Number:
        """Return the index of the sample at a position of the endless order over all epochs."""
        return self._samples(range(position, position + 1))[0]

    def _samples(self, positions: range) -> list[Number]:
        """Return the indexes of the samples at these positions of the endless order, with their epochs."""
        numbers: list[Number] = []
        while positions:
            epoch, offset = divmod(positions[0], self.size)
            count = min(len(positions), -(-(self.size - offset) // positions.step))
            places = range(offset, offset + count * positions.step, positions.step)
            numbers += [_number(index, epoch) for index in self._lookup(epoch, places)]
            positions = positions[count:]
        return numbers

    def _lookup(self, epoch: int, places: range) -> Iterable[int]:
        """Return the dataset indices at these places of an epoch: shuffled by seed and epoch, or just the places."""
        if not self.shuffle:
            return places
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(derive(self.seed, epoch))
            shuffled = (
                self._by_blocks(generator) if self.blocks else torch.randperm(self.size, generator=generator)
            )
            self._epoch, self._order = epoch, shuffled
        indices: list[int] = self._order[places.start : places.stop : places.step].tolist()
        return indices

    def _by_blocks(self, generator: torch.Generator) -> torch.Tensor:
        """Return all sample indexes with the blocks shuffled, then the samples in each group of `mixed` blocks."""
        ends = list(itertools.accumulate(self.blocks))
        order = torch.randperm(len(ends), generator=generator).tolist()
        parts = []
        for start in range(0, len(order), self.mixed):
            some = torch.cat(
                [torch.arange(ends[b] - self.blocks[b], ends[b]) for b in order[start : start + self.mixed]]
            )
            parts.append(some[torch.randperm(some.numel(), generator=generator)])
        return torch.cat(parts)

    def state_dict(self) -> dict[str, Any]:
        """Return the sampler's position and the settings that determine its order."""
        return {"consumed": self.consumed, **{name: getattr(self, name) for name in _ORDER}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Set the sampler's position from a saved state.

        Raises:
            ValueError: the state comes from another dataset or another order.
        """
        if state.get("data", "") != self.data:
            raise ValueError(
                "the dataset has changed since the checkpoint: samples would be repeated or skipped"
            )
        for name in _ORDER:
            now = getattr(self, name)
            saved = state.get(name, type(now)())  # a checkpoint without blocks comes from a sampler without
            if saved != now:
                raise ValueError(
                    f"the checkpoint has {name}={saved}, this run has {name}={now}:"
                    " samples would be repeated or skipped"
                )
        self.consumed = state["consumed"]


def _replica() -> tuple[int, int]:
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)


def _number(index: int, epoch: int) -> Number:
    number = Number(index)
    number.epoch = epoch
    return number
