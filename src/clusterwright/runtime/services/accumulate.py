"""A step's batch in pieces that fit; gradients travel with the last of them only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def pieces(batch: Any, micro: int, model: nn.Module | None = None) -> Iterator[Any]:
    """The batch in pieces of at most `micro` samples.

    A batch is a tensor, a list of samples, or a tuple, list or dict of tensors that are equally long.
    While `model` (DistributedDataParallel, or sharded by `fully_shard`) works on any but the last piece,
    it only adds its gradients up.

    Raises:
        ValueError: the batch is empty: this rank's gradients would be missed by the others for ever.
    """
    size = length(batch)
    if size < 1 or micro < 1:
        raise ValueError(f"{size} samples in pieces of {micro}: each rank needs at least 1 of both")
    try:
        for start in range(0, size, micro):
            send(model, now=start + micro >= size)
            yield slice_batch(batch, start, start + micro)
    finally:
        send(model, now=True)


def length(batch: Any) -> int:
    """How many samples a batch has."""
    if isinstance(batch, Mapping):
        return length(next(iter(batch.values())))
    if isinstance(batch, (tuple, list)) and batch and isinstance(batch[0], torch.Tensor) and batch[0].dim():
        return len(batch[0])
    return len(batch)


def slice_batch(batch: Any, start: int, end: int) -> Any:
    """The samples from `start` to before `end`."""
    if isinstance(batch, Mapping):
        return {name: slice_batch(value, start, end) for name, value in batch.items()}
    if isinstance(batch, (tuple, list)) and batch and isinstance(batch[0], torch.Tensor) and batch[0].dim():
        return type(batch)(tensor[start:end] for tensor in batch)
    return batch[start:end]


def send(model: nn.Module | None, *, now: bool) -> None:
    """Whether gradients of `model` travel with the next backward pass, or are only added up."""
    if isinstance(model, DistributedDataParallel):
        model.require_backward_grad_sync = now  # what its no_sync() sets
        return
    sharded: Any = model
    if hasattr(sharded, "set_requires_gradient_sync"):
        sharded.set_requires_gradient_sync(now)
