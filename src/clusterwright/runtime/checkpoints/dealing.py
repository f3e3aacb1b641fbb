"""Which rank writes which piece of the state: each piece once, whoever else holds it too."""

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
)  # what is smaller is not worth it: copied in 5 us, it needs as long to be looked after
_NOTHING = bytes(8)
_NAMED = 5  # as many tensors are named in an error


class Dealer:
    """Takes a state apart into the chunks that this rank writes.

    Who holds what is agreed once, by a collective, and again when the state has got other tensors, which happens on
    all ranks at once. Tensors that are no DTensors must be the same on all ranks; only their names and shapes are
    compared here, not their values. Those that may differ all the same, as buffers of BatchNorm do, are named by
    `rank_0s`: rank 0's are those that count.
    """

    def __init__(self, group: Group, rank_0s: Callable[[], Iterable[str]] = tuple) -> None:
        self._group, self._rank_0s = group, rank_0s
        self._key: tuple[Any, ...] = ()
        self._owned_indexes: list[int] = []

    def chunks(self, shared: dict[str, Any], local: dict[str, Any]) -> list[Chunk]:
        """This rank's share of what all have, and its own state; all ranks call it together.

        Raises:
            ValueError: the ranks' states have other tensors.
            TypeError: a tensor that is in no state to be saved.
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
                f"no rank holds {', '.join(nowhere[:_NAMED])}: on the device meta there are no values"
            )
        return owned(self._group.rank, sizes, boxes)


def owned(rank: int, sizes: Sequence[int], boxes: Sequence[Sequence[bytes]]) -> list[int]:
    """The numbers of the tensors that a rank writes its piece of, given what each rank holds of each tensor.

    The largest first, each piece to the one that has least of those who hold it; small ones to the first of them.
    All ranks come to the same result.
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
    """That of the whole tensor."""
    return tuple(chunk.data.shape) if chunk.full_shape is None else chunk.full_shape


def _tag(chunk: Chunk) -> bytes:
    """The same for the same box; zeroes for a piece that is empty though its tensor is not."""
    if chunk.full_shape is not None and not chunk.data.numel():
        return _NOTHING
    text = repr((chunk.offset, tuple(chunk.data.shape)))
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _differ(names: Sequence[Iterable[str]]) -> str:
    """Words about the first rank whose state has other tensors than rank 0's."""
    reference = set(names[0])
    rank, rank_names = next(
        (rank, set(tensor_names)) for rank, tensor_names in enumerate(names) if set(tensor_names) != reference
    )
    details = [
        f"only rank {holder} has {', '.join(sorted(only)[:_NAMED])}"
        for holder, only in ((0, reference - rank_names), (rank, rank_names - reference))
        if only
    ]
    return f"rank {rank} tracks other tensors than rank 0: {'; '.join(details)}. What is not sharded must be alike"
