"""Pieces of tensors: boxes, each with its place and shape; and what a DTensor says of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from clusterwright.runtime.checkpoints.part import Chunk


@dataclass(frozen=True)
class Box:
    """Where a piece begins in its tensor, and how far it reaches."""

    offset: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        """How many elements lie in it."""
        return math.prod(self.shape)

    def overlap(self, other: Box) -> Box | None:
        """What both hold; None when there is nothing."""
        begin = tuple(map(max, self.offset, other.offset))
        ends = tuple(
            min(a + m, b + n) for a, m, b, n in zip(self.offset, self.shape, other.offset, other.shape)
        )
        shape = tuple(end - start for start, end in zip(begin, ends))
        return Box(begin, shape) if all(size > 0 for size in shape) else None

    def slices_in(self, outer: Box) -> tuple[slice, ...]:
        """The slices of `outer` that this box is."""
        return tuple(slice(a - b, a - b + n) for a, b, n in zip(self.offset, outer.offset, self.shape))


def full_box(shape: tuple[int, ...]) -> Box:
    """All of a tensor."""
    return Box((0,) * len(shape), tuple(shape))


def sharded(tensor: torch.Tensor) -> bool:
    """Whether it is a DTensor; its class is not imported for that."""
    return hasattr(tensor, "device_mesh") and hasattr(tensor, "placements")


def absent(tensor: torch.Tensor) -> bool:
    """Whether other ranks hold it, as a pipeline's stages do: here it is on the device `meta`, a name and a shape."""
    return tensor.is_meta and tensor.dim() > 0


def box(tensor: Any) -> Box:
    """What this rank holds of a DTensor: one box, also on meshes of several dimensions and where shards are uneven.

    Nothing of one that is absent.
    """
    if absent(tensor):
        return Box((0,) * tensor.dim(), (0,) * tensor.dim())
    if any(placement.is_partial() for placement in tensor.placements):
        raise TypeError("a DTensor of partial sums has no values yet; redistribute it before it is saved")
    (chunk_metadata,) = tensor.__create_chunk_list__()
    return Box(tuple(chunk_metadata.offsets), tuple(chunk_metadata.sizes))


def chunk(name: str, tensor: torch.Tensor) -> Chunk:
    """The piece of a tensor that this rank holds."""
    if tensor.is_meta:
        return Chunk(name, torch.empty(0, dtype=tensor.dtype), tuple(tensor.shape), (0,) * tensor.dim())
    if not sharded(tensor):
        return Chunk(name, tensor)
    piece, local = box(tensor), local_of(tensor)
    shape = tuple(tensor.shape)
    if piece.shape == shape:
        return Chunk(name, local)
    return Chunk(name, local, shape, piece.offset)


def local_of(tensor: Any) -> torch.Tensor:
    """The memory of a DTensor on this rank."""
    with torch.no_grad():
        local: torch.Tensor = tensor.to_local()
    return local.wait() if hasattr(local, "wait") else local  # a collective may still be under way


def like(tensor: torch.Tensor, local: torch.Tensor) -> torch.Tensor:
    """A DTensor laid out as another is, with this rank's values; absent as another is."""
    if absent(tensor):
        return torch.empty(tensor.shape, dtype=local.dtype, device="meta")
    with torch.no_grad():
        result = torch.empty_like(tensor, dtype=local.dtype)
        local_of(result).copy_(local)
    return result
