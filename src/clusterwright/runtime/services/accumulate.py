"""Gradient accumulation: a batch in microbatches, with gradients reduced after the last of them only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def pieces(batch: Any, micro: int, model: nn.Module | None = None) -> Iterator[Any]:
    """Yield the batch in microbatches of at most `micro` samples.

    A batch is a tensor, a list of samples, or a tuple, list or dict of tensors of equal length.
    For all microbatches but the last, `model` (DistributedDataParallel, or sharded by `fully_shard`) accumulates
    gradients without communication.

    Raises:
        ValueError: the batch is empty: other ranks would wait for this rank's gradients forever.
    """
    size = length(batch)
    if size < 1 or micro < 1:
        raise ValueError(f"{size} samples in microbatches of {micro}: both must be at least 1 on each rank")
    try:
        for start in range(0, size, micro):
            send(model, now=start + micro >= size)
            yield slice_batch(batch, start, start + micro)
    finally:
        send(model, now=True)


def length(batch: Any) -> int:
    """Return the number of samples in a batch: of the first tensor of a mapping, tuple or list, else `len`."""
    if isinstance(batch, Mapping):
        return length(next(iter(batch.values())))
    if isinstance(batch, (tuple, list)) and batch and isinstance(batch[0], torch.Tensor) and batch[0].dim():
        return len(batch[0])
    return len(batch)


def slice_batch(batch: Any, start: int, end: int) -> Any:
    """Return the samples of a batch from `start` to before `end`, of each of its tensors if it has several."""
    if isinstance(batch, Mapping):
        return {name: slice_batch(value, start, end) for name, value in batch.items()}
    if isinstance(batch, (tuple, list)) and batch and isinstance(batch[0], torch.Tensor) and batch[0].dim():
        return type(batch)(tensor[start:end] for tensor in batch)
    return batch[start:end]


def send(model: nn.Module | None, *, now: bool) -> None:
    """Set whether backward passes of `model` reduce gradients or only accumulate them, until the next call.

    Nothing for models that are neither in DistributedDataParallel nor sharded by `fully_shard`.
    """
    if isinstance(model, DistributedDataParallel):
        model.require_backward_grad_sync = now  # as its no_sync() does
        return
    sharded: Any = model
    if hasattr(sharded, "set_requires_gradient_sync"):
        sharded.set_requires_gradient_sync(now)
