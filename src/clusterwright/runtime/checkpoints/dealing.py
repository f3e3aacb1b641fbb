"""Assigns the pieces of a state to the ranks that write them: each piece to one of the ranks that hold it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from clusterwright.runtime.checkpoints import shards, tree
from clusterwright.runtime.checkpoints.part import Chunk
from clusterwright.runtime.group import Group

_DEALT_FROM_BYTES = (
    1 << 16
)  # smaller tensors are not balanced: their copy takes 5 us, their bookkeeping as long
_NOTHING = bytes(8)
_NAMED = 5  # maximum number of tensors named in an error


class Dealer:
    """Splits a state into the chunks that this rank writes.

    The ranks agree on the assignment by a collective, once and again when the state's tensors change, which happens on
    all ranks at once. Plain tensors must be equal on all ranks; only names and shapes are compared, not values.
    `rank_0s` returns the names of those that may differ, such as BatchNorm buffers: rank 0 writes its own.
    """

    def __init__(self, group: Group, rank_0s: Callable[[], Iterable[str]] = tuple) -> None:
        self._group, self._rank_0s = group, rank_0s
        self._key: tuple[Any, ...] = ()
        self._owned_indexes: list[int] = []

    def chunks(self, shared: dict[str, Any], local: dict[str, Any]) -> list[Chunk]:
        """Return this rank's chunks of the shared state, and its local state as one chunk; collective.

        Raises:
            ValueError: the ranks' states have different tensors.
            TypeError: a tensor cannot be saved, or no rank holds its values.
        """
        tensors: dict[str, Any] = {}
        skeleton = tree.flatten(shared, "", tensors)
        all_chunks = [shards.chunk(name, tensor) for name, tensor in tensors.items()]
        key = tuple((chunk.name, chunk.data.dtype, shape_of(chunk)) for chunk in all_chunks)
        if key != self._key:
            self._owned_indexes = self._agree(all_chunks, key)
            self._key = key
        rank_chunks = [all_chunks[index] for index in self._owned_indexes]
        rank_chunks.append(Chunk("rank", tree.pack(local)))
        return [*rank_chunks, Chunk("tree", tree.pack(skeleton))] if self._group.rank == 0 else rank_chunks

    def _agree(self, all_chunks: list[Chunk], key: tuple[Any, ...]) -> list[int]:
        rank_0s = set(self._rank_0s())
        names = [f"{name} ({dtype}, {list(shape)})" for name, dtype, shape in key]
        tag = hashlib.sha256("\n".join(names).encode()).digest()
        box_tags = b"".join(_tag(chunk) for chunk in all_chunks)
        replies = self._group.gather((tag, box_tags))
        if any(peer_tag != tag for peer_tag, _ in replies):
            raise ValueError(_differ(self._group.gather(names)))
        sizes = [
            0 if chunk.name in rank_0s else chunk.data.element_size() * math.prod(shape_of(chunk))
            for chunk in all_chunks
        ]
        boxes = [[peer_tags[8 * n : 8 * n + 8] for _, peer_tags in replies] for n in range(len(all_chunks))]
        if nowhere := [name for name, tags in zip(names, boxes, strict=True) if {*tags} == {_NOTHING}]:
            raise TypeError(
                f"no rank holds {', '.join(nowhere[:_NAMED])}: tensors on the device meta have no values"
            )
        return owned(self._group.rank, sizes, boxes)


def owned(rank: int, sizes: Sequence[int], boxes: Sequence[Sequence[bytes]]) -> list[int]:
    """Return the indexes of the tensors of which a rank writes its box (piece), sorted; all ranks agree on them.

    `boxes` has for each rank the tag of its box of each tensor. Pieces are assigned from the largest on, each to the
    holder with the least bytes so far; small ones to their first holder.
    """
    heights = [0.0] * len(boxes[0]) if boxes else []
    indexes = []
    for number in sorted(range(len(sizes)), key=lambda n: (-sizes[n], n)):
        holders: dict[bytes, list[int]] = {}
        for holder, box_tag in enumerate(boxes[number]):
            if box_tag != _NOTHING:
                holders.setdefault(box_tag, []).append(holder)
        for ranks in holders.values():
            size = sizes[number] / len(holders)
            owner = min(ranks, key=heights.__getitem__) if size >= _DEALT_FROM_BYTES else ranks[0]
            heights[owner] += size
            if owner == rank:
                indexes.append(number)
    return sorted(indexes)


def shape_of(chunk: Chunk) -> tuple[int, ...]:
    """Return the shape of the whole tensor that a chunk belongs to."""
    return tuple(chunk.data.shape) if chunk.full_shape is None else chunk.full_shape


def _tag(chunk: Chunk) -> bytes:
    """Return a hash of the offset and shape of a chunk; zeros for an empty piece."""
    if chunk.full_shape is not None and not chunk.data.numel():
        return _NOTHING
    text = repr((chunk.offset, tuple(chunk.data.shape)))
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _differ(names: Sequence[Iterable[str]]) -> str:
    """Return an error message about the first rank whose tensor names differ from rank 0's."""
    reference = set(names[0])
    rank, rank_names = next(
        (rank, set(tensor_names)) for rank, tensor_names in enumerate(names) if set(tensor_names) != reference
    )
    details = [
        f"only rank {holder} has {', '.join(sorted(only)[:_NAMED])}"
        for holder, only in ((0, reference - rank_names), (rank, rank_names - reference))
        if only
    ]
    return f"rank {rank} tracks different tensors than rank 0: {'; '.join(details)}; unsharded tensors must be equal"
