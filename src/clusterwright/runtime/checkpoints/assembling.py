"""A state out of its parts, wherever they are: files, memory, other hosts."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch

from clusterwright.runtime.checkpoints import shards, tree
from clusterwright.runtime.checkpoints.beside import Beside
from clusterwright.runtime.checkpoints.part import Entry, Reader
from clusterwright.runtime.checkpoints.shards import Box
from clusterwright.runtime.checkpoints.source import Damaged
from clusterwright.runtime.checkpoints.wanted import Wanted


def assemble(
    parts: Iterable[AbstractContextManager[Reader]], *, rank: int, wanted: Wanted | None = None, step: int = 0
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What all ranks share, and what rank `rank` had for itself; `parts` are those of all ranks, in their order.

    Each part is opened once, and of each only the blocks are read that this rank needs: all of a tensor, unless
    `wanted` says which piece. With no part of this number, its own state is empty.

    Raises:
        Damaged: a part is not what was saved, or something is not in any of them.
        Mismatch: it is not the state of what `wanted` speaks of.
    """
    found: dict[str, _Tensor] = {}
    own: dict[str, Any] = {}
    rest = None
    with Beside() as beside:  # tensors are verified while the next ones are read
        for index, opened in enumerate(parts):
            with opened as reader:
                for entry in reader.entries:
                    if entry.name == "tree":
                        rest = tree.unpack(reader.read(entry))
                    elif entry.name != "rank":
                        _take(found, reader, entry, wanted, beside)
                    elif index == rank:
                        own = tree.unpack(reader.read(entry))
    if rest is None:
        raise Damaged("no part holds the tree of the state")
    shared = tree.together(rest, {name: _finished(name, each, wanted) for name, each in found.items()})
    if wanted:
        wanted.compare(step, shared)
    return shared, own


@dataclass
class _Tensor:
    """One that is being put together."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    piece: Box | None
    data: torch.Tensor | None = None
    filled: int = 0
    taken: set[Box] = field(default_factory=set)


def _take(
    found: dict[str, _Tensor], reader: Reader, entry: Entry, wanted: Wanted | None, beside: Beside
) -> None:
    """Put in what this chunk has of what is needed; a chunk that another rank has saved too is not read again."""
    if entry.name not in found:
        piece = wanted.piece(entry.name, entry.whole) if wanted else shards.whole(entry.whole)
        found[entry.name] = _Tensor(entry.whole, entry.dtype, piece)
    tensor, chunk = found[entry.name], Box(entry.offset, entry.shape)
    if (tensor.shape, tensor.dtype) != (entry.whole, entry.dtype):
        raise Damaged(f"the parts do not agree what {entry.name} is")
    if tensor.piece is None or chunk in tensor.taken:
        return
    tensor.taken.add(chunk)
    if chunk == tensor.piece:
        tensor.data, tensor.filled = reader.read(entry, beside), chunk.numel
    elif common := chunk.overlap(tensor.piece):
        if tensor.data is None:
            tensor.data = torch.empty(tensor.piece.shape, dtype=tensor.dtype)
        tensor.data[common.within(tensor.piece)] = _read(reader, entry, chunk, common, beside)
        tensor.filled += common.numel


def _read(reader: Reader, entry: Entry, chunk: Box, common: Box, beside: Beside) -> torch.Tensor:
    """Some of a chunk; whole rows of its first dimension are read, and only those that are needed."""
    rows, *others = common.within(chunk)
    row_bytes = (entry.end - entry.start) // chunk.shape[0]
    data = reader.read_bytes(entry, rows.start * row_bytes, rows.stop * row_bytes, beside)
    read: torch.Tensor = data.view(entry.dtype).view(-1, *chunk.shape[1:])
    return read[(slice(None), *others)]


def _finished(name: str, tensor: _Tensor, wanted: Wanted | None) -> torch.Tensor:
    if tensor.piece is None:  # of another shape than wanted: known by its shape alone, for the words about it
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")
    if tensor.filled != tensor.piece.numel:
        raise Damaged(f"the parts do not hold all of {name}")
    data = torch.empty(tensor.piece.shape, dtype=tensor.dtype) if tensor.data is None else tensor.data
    return wanted.place(name, tensor.shape, data) if wanted else data
