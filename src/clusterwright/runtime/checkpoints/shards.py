"""Pieces of tensors as boxes with offset and shape, also those of DTensors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from clusterwright.runtime.checkpoints.part import Chunk


@dataclass(frozen=True)
class Box:
    """The offset and shape of a piece in its tensor."""

    offset: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        """Return the number of elements in the box."""
        return math.prod(self.shape)

    def overlap(self, other: Box) -> Box | None:
        """Return the intersection of two boxes, None if it is empty."""
        begin = tuple(map(max, self.offset, other.offset))
        ends = tuple(
            min(a + m, b + n) for a, m, b, n in zip(self.offset, self.shape, other.offset, other.shape)
        )
        shape = tuple(end - start for start, end in zip(begin, ends))
        return Box(begin, shape) if all(size > 0 for size in shape) else None

    def slices_in(self, outer: Box) -> tuple[slice, ...]:
        """Return the slices that select this box from a tensor that holds the box `outer`."""
        return tuple(slice(a - b, a - b + n) for a, b, n in zip(self.offset, outer.offset, self.shape))


def full_box(shape: tuple[int, ...]) -> Box:
    """Return the box of a whole tensor of this shape."""
    return Box((0,) * len(shape), tuple(shape))


def sharded(tensor: torch.Tensor) -> bool:
    """Return True if a tensor is a DTensor, without importing the class."""
    return hasattr(tensor, "device_mesh") and hasattr(tensor, "placements")


def absent(tensor: torch.Tensor) -> bool:
    """Return True if only other ranks hold a tensor, as in pipeline stages: here it is on the device `meta`.

    Scalars are never absent.
    """
    return tensor.is_meta and tensor.dim() > 0


def box(tensor: Any) -> Box:
    """Return the box of a DTensor that this rank holds: one, also on multi-dimensional meshes and with uneven shards.

    An absent tensor has an empty box.

    Raises:
        TypeError: the DTensor has a Partial placement.
    """
    if absent(tensor):
        return Box((0,) * tensor.dim(), (0,) * tensor.dim())
    if any(placement.is_partial() for placement in tensor.placements):
        raise TypeError(
            "cannot save a DTensor with a Partial placement; fix: redistribute it before the save"
        )
    (chunk_metadata,) = tensor.__create_chunk_list__()
    return Box(tuple(chunk_metadata.offsets), tuple(chunk_metadata.sizes))


def chunk(name: str, tensor: torch.Tensor) -> Chunk:
    """Return the piece of a tensor that this rank holds, as a chunk; an empty one for a tensor on `meta`."""
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
    """Return the local tensor of a DTensor, without gradients; waits for a running collective."""
    with torch.no_grad():
        local: torch.Tensor = tensor.to_local()
    return local.wait() if hasattr(local, "wait") else local  # a collective may still be running


def like(tensor: torch.Tensor, local: torch.Tensor) -> torch.Tensor:
    """Return a DTensor sharded like `tensor` with these local values; on `meta` if `tensor` is absent."""
    if absent(tensor):
        return torch.empty(tensor.shape, dtype=local.dtype, device="meta")
    with torch.no_grad():
        result = torch.empty_like(tensor, dtype=local.dtype)
        local_of(result).copy_(local)
    return result
