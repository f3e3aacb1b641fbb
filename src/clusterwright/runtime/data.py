"""Which samples a step trains on: one endless order for all ranks, whatever their number."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist

from clusterwright.runtime.seeds import derive

_ORDER = ("size", "seed", "shuffle", "mixed", "data")  # what an order of samples follows from


class Number(int):
    """A sample's number, which knows how often all samples were seen before (samples.py draws seeds from it)."""

    epoch = 0


class Sampler:
    """Deals each step's `batch` samples out to the ranks; an epoch takes each sample once, shuffled.

    The order follows from the seed alone. A batch that an epoch cannot fill goes on in the next, so no sample
    is dropped and every step has `batch` of them. Its position is the number of samples trained on, so a run
    resumed on more or fewer ranks neither repeats nor skips one. When the ranks do not divide the batch, the
    first ones get one sample more: weigh a rank's loss by its samples, as the recipes do, not by its mean.
    Ranks that share a model or a sequence get the same samples: `replica` is which of how many replicas this rank
    is of; left out, each rank is one.

    Iterating yields this rank's sample numbers, a list for each step, from the position on; a torch
    DataLoader takes it as its `batch_sampler`. Only `advance` moves the position: what a loader has fetched
    ahead is not lost.

    Samples that lie in `blocks` of so many (the files or row groups of a dataset) are shuffled in two steps: the
    blocks, and then all samples of `mixed` blocks that come together; so what is read next is mostly near.
    `data` is the fingerprint of the dataset: a run is not resumed on another one.
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
            raise ValueError(f"{size} samples in batches of {batch}: both must be at least 1")
        if blocks and (sum(blocks) != size or mixed < 1):
            raise ValueError(
                f"blocks of {sum(blocks)} samples in all, {mixed} of them mixed, for {size} samples"
            )
        self.size, self.batch, self.seed, self.shuffle, self.replica = size, batch, seed, shuffle, replica
        self.blocks, self.mixed, self.data = tuple(blocks), mixed if blocks else 0, data
        self.consumed = 0
        self._epoch, self._order = -1, torch.empty(0, dtype=torch.int64)

    @classmethod
    def over(cls, dataset: Any, *, batch: int, seed: int = 0, shuffle: bool = True) -> Sampler:
        """One for a dataset of ours (`runtime.datasets`): by its blocks, where it has any, and for it alone."""
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
        """How many times all samples have been seen."""
        return self.consumed // self.size

    def advance(self) -> None:
        """One step is complete."""
        self.consumed += self.batch

    def __iter__(self) -> Iterator[list[Number]]:
        rank, ranks = self.replica or _replica()
        start = self.consumed
        while True:
            yield self._samples(range(start + rank, start + self.batch, ranks))
            start += self.batch

    def sample(self, position: int) -> Number:
        """The sample at a position of the endless order."""
        return self._samples(range(position, position + 1))[0]

    def _samples(self, positions: range) -> list[Number]:
        """Those at these positions; all of an epoch at once, as one look into a tensor takes 5 us."""
        numbers: list[Number] = []
        while positions:
            epoch, offset = divmod(positions[0], self.size)
            count = min(len(positions), -(-(self.size - offset) // positions.step))
            places = range(offset, offset + count * positions.step, positions.step)
            numbers += [_number(index, epoch) for index in self._lookup(epoch, places)]
            positions = positions[count:]
        return numbers

    def _lookup(self, epoch: int, places: range) -> Iterable[int]:
        """What lies at these places of an epoch."""
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
        """All samples of `mixed` blocks shuffled, then those of the next ones; blocks in a random order."""
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
        """The position, and what it is a position in."""
        return {"consumed": self.consumed, **{name: getattr(self, name) for name in _ORDER}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position; refused when the order is another than the one it was taken in."""
        if state.get("data", "") != self.data:
            raise ValueError(
                "the data has changed since the checkpoint: samples would be repeated or skipped"
            )
        for name in _ORDER:
            now = getattr(self, name)
            saved = state.get(name, type(now)())  # an old checkpoint says nothing of blocks, and had none
            if saved != now:
                raise ValueError(
                    f"the checkpoint was made with {name}={saved}, this run has {name}={now}:"
                    " samples would be repeated or skipped"
                )
        self.consumed = state["consumed"]


def _replica() -> tuple[int, int]:
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)


def _number(index: int, epoch: int) -> Number:
    number = Number(index)
    number.epoch = epoch
    return number
