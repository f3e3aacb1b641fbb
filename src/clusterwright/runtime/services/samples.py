"""Random augmentations that repeat exactly after a resume, on any rank and in any worker."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch
from torch.utils.data import Dataset

from clusterwright.runtime import seeds
from clusterwright.runtime.data import Number


def sample_seed(number: int, seed: int = 0) -> int:
    """Return a seed for this sample in its epoch; `number` comes from a Sampler."""
    return seeds.derive(seed, number.epoch if isinstance(number, Number) else 0, number)


class Reproducible(Dataset[Any]):
    """A dataset that loads each sample under a seed of its own and restores the global random states after it."""

    def __init__(self, dataset: Any, *, seed: int = 0) -> None:
        self._dataset, self._seed = dataset, seed

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, number: int) -> Any:
        numpy = sys.modules["numpy"].random if "numpy" in sys.modules else None
        saved_states = (
            random.getstate(),
            torch.random.get_rng_state(),
            numpy and numpy.get_state(legacy=False),
        )
        chosen = sample_seed(number, self._seed)
        random.seed(chosen)
        torch.default_generator.manual_seed(chosen)  # the CPU generator only: a worker may have no GPU
        if numpy:
            numpy.seed(chosen % 2**32)
        try:
            return self._dataset[number]
        finally:
            random.setstate(saved_states[0])
            torch.random.set_rng_state(saved_states[1])
            if numpy:
                numpy.set_state(saved_states[2])
