"""Assembles a state from its parts in files, in memory or on other hosts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch

from clusterwright.runtime.checkpoints import shards, tree
from clusterwright.runtime.checkpoints.background_worker import BackgroundWorker
from clusterwright.runtime.checkpoints.part import PartEntry, Reader
from clusterwright.runtime.checkpoints.shards import Box
from clusterwright.runtime.checkpoints.source import Damaged
from clusterwright.runtime.checkpoints.target_state import TargetState


def assemble(
    parts: Iterable[AbstractContextManager[Reader]],
    *,
    rank: int,
    target: TargetState | None = None,
    step: int = 0,
    size_bytes: int | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shared state and the local state of rank `rank`, from the parts of all ranks in rank order.

    Each part is opened once, and only the blocks that this rank needs are read: whole tensors, or the pieces that
    `target` selects. The local state is empty if `parts` has no such rank. `size_bytes`: of all parts, if known.

    Raises:
        Damaged: a part differs from what was saved, or something is missing in all parts.
        Mismatch: the state does not match the models of `target`.
    """
    tensors: dict[str, _Tensor] = {}
    local: dict[str, Any] = {}
    skeleton = None
    with BackgroundWorker() as worker:  # tensors are verified while the next ones are read
        for index, opened in enumerate(parts):
            with opened as reader:
                for entry in reader.entries:
                    if entry.name == "tree":
                        skeleton = tree.unpack(reader.read(entry))
                    elif entry.name != "rank":
                        _refuse_larger(entry, size_bytes)
                        _add_chunk(tensors, reader, entry, target, worker)
                    elif index == rank:
                        local = tree.unpack(reader.read(entry))
    if skeleton is None:
        raise Damaged("no part has the structure of the state (tensor `tree`)")
    shared = tree.restore(
        skeleton, {name: _finished(name, tensor, target) for name, tensor in tensors.items()}
    )
    if target:
        target.compare(step, shared)
    return shared, local


@dataclass
class _Tensor:
    """A tensor being assembled."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    piece: Box | None
    data: torch.Tensor | None = None
    filled: int = 0
    chunks: set[Box] = field(default_factory=set)


def _add_chunk(
    tensors: dict[str, _Tensor],
    reader: Reader,
    entry: PartEntry,
    target: TargetState | None,
    worker: BackgroundWorker,
) -> None:
    """Read the part of this chunk that this rank needs into its tensor in `tensors`; without `target`, all of it.

    A chunk that was read from another rank's part is skipped.

    Raises:
        Damaged: the parts have different shapes or dtypes of the tensor.
    """
    if entry.name not in tensors:
        piece = target.piece(entry.name, entry.full_shape) if target else shards.full_box(entry.full_shape)
        tensors[entry.name] = _Tensor(entry.full_shape, entry.dtype, piece)
    tensor, chunk = tensors[entry.name], Box(entry.offset, entry.shape)
    if (tensor.shape, tensor.dtype) != (entry.full_shape, entry.dtype):
        raise Damaged(f"the parts have different shapes or dtypes of {entry.name}")
    if tensor.piece is None or chunk in tensor.chunks:
        return
    tensor.chunks.add(chunk)
    if chunk == tensor.piece:
        tensor.data, tensor.filled = reader.read(entry, worker), chunk.numel
    elif common := chunk.overlap(tensor.piece):
        if tensor.data is None:
            tensor.data = torch.empty(tensor.piece.shape, dtype=tensor.dtype)
        tensor.data[common.slices_in(tensor.piece)] = _read(reader, entry, chunk, common, worker)
        tensor.filled += common.numel


def _refuse_larger(entry: PartEntry, size_bytes: int | None) -> None:
    """Raise Damaged for a tensor whose shape needs more bytes than all parts have, before memory is reserved for it."""
    claimed_bytes = math.prod(entry.full_shape) * entry.dtype.itemsize
    if size_bytes is not None and claimed_bytes > size_bytes:
        raise Damaged(f"{entry.name} of shape {list(entry.full_shape)} has more bytes than all parts")


def _read(
    reader: Reader, entry: PartEntry, chunk: Box, common: Box, worker: BackgroundWorker
) -> torch.Tensor:
    """Return the values of the box `common` of a chunk; the whole rows of its first dimension around it are read."""
    rows, *trailing = common.slices_in(chunk)
    row_bytes = (entry.end - entry.start) // chunk.shape[0]
    data = reader.read_bytes(entry, rows.start * row_bytes, rows.stop * row_bytes, worker)
    read: torch.Tensor = data.view(entry.dtype).view(-1, *chunk.shape[1:])
    return read[(slice(None), *trailing)]


def _finished(name: str, tensor: _Tensor, target: TargetState | None) -> torch.Tensor:
    if tensor.piece is None:  # a different shape than needed: a placeholder, for the error message
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")
    if tensor.filled != tensor.piece.numel:
        raise Damaged(f"the parts do not have all of {name}")
    data = torch.empty(tensor.piece.shape, dtype=tensor.dtype) if tensor.data is None else tensor.data
    return target.build_tensor(name, tensor.shape, data) if target else data
