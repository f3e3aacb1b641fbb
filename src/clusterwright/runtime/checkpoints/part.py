"""One rank's part of a checkpoint: the same bytes in a file, in memory and on the network.

    8 bytes    length of the header
    header     JSON: name, dtype, shape and offsets of each tensor; of a piece of a sharded tensor also its box
    sums       a checksum of each block of each tensor (digest.py), in order
    tensors    their bytes

This is the safetensors format, readable by any such tool. `Part`, which the manifest stores, has the length and one
digest over header and checksums, so each block can be verified alone. Nothing in a part is pickled but the tensors
named `rank` and `tree`, which hold all that is not a tensor.

To write a part: `layout(chunks)` computes its length (`Layout.bytes`) and all offsets; `stage` copies the tensors
into memory of that length, the only step that training waits for; `seal` then adds checksums and header, in any
thread, and returns the Part.
To read a part: `Reader(source, part)`, where the source is a file, memory or another class (source.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from clusterwright.runtime.checkpoints import digest, memory
from clusterwright.runtime.checkpoints.background_worker import BackgroundWorker
from clusterwright.runtime.checkpoints.source import CheckpointSource, Damaged

DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint8: "U8", torch.bool: "BOOL", torch.complex64: "C64",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
}  # fmt: skip
SUMS = "sums"
NAMED = {name: dtype for dtype, name in DTYPES.items()}
_LARGEST_HEADER = 100_000_000  # bytes; the limit of the safetensors format itself
_ALIGNED = 64  # bytes; header lengths are multiples of this, so that tensors are aligned for their dtypes


class Chunk(
    NamedTuple
):  # thousands are created in each save, and creating a dataclass takes four times as long
    """A rank's box of a tensor: its values, its offset in the tensor, and the shape of the tensor.

    `full_shape` is None when the box is the whole tensor.
    """

    name: str
    data: torch.Tensor
    full_shape: tuple[int, ...] | None = None
    offset: tuple[int, ...] = ()


@dataclass(frozen=True)
class PartEntry:
    """The position of a chunk in a part: byte offsets `start` and `end`, and the index of its first checksum."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    full_shape: tuple[int, ...]
    offset: tuple[int, ...]
    start: int
    end: int
    first_sum: int


@dataclass(frozen=True)
class Part:
    """The record of a part that is stored elsewhere (manifest, header of a slot) to verify it."""

    file: str
    bytes: int
    digest: str


@dataclass(frozen=True)
class Layout:
    """The layout of a part; equal for each save as long as the state has the same tensors."""

    head: bytes
    entries: tuple[PartEntry, ...]
    order: tuple[int, ...]
    bytes: int

    @property
    def body(self) -> int:
        """Return the offset of the part's first tensor; checksums lie between the header's end and it."""
        return self.entries[0].start if self.entries else self.bytes


def layout(chunks: Sequence[Chunk]) -> Layout:
    """Return the layout of a part with these chunks, reordered only for alignment.

    Raises:
        ValueError: two tensors have the same name.
    """
    order = tuple(sorted(range(len(chunks)), key=lambda number: _alignment(chunks[number])))
    ordered = [chunks[number] for number in order]
    sums = digest.SUM_BYTES * sum(digest.blocks(_bytes(chunk)) for chunk in ordered)
    header: dict[str, Any] = {
        "__metadata__": {"boxes": ""},
        SUMS: _header_fields(torch.uint8, (sums,), 0, sums),
    }
    boxes: dict[str, Any] = {}
    end = sums
    for chunk in ordered:
        key = _key(chunk)
        if key in header:
            raise ValueError(f"two tensors have the name {key}")
        start, end = end, end + _bytes(chunk)
        header[key] = _header_fields(chunk.data.dtype, tuple(chunk.data.shape), start, end)
        if chunk.full_shape is not None:
            boxes[key] = [chunk.name, chunk.full_shape, chunk.offset]
    header["__metadata__"]["boxes"] = json.dumps(boxes)  # the format allows only strings here
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNED)
    head = len(text).to_bytes(8, "little") + text
    return Layout(head, _entries(head), order, len(head) + end)


def places(plan: Layout, into: torch.Tensor) -> list[torch.Tensor]:
    """Return views of `into` (flat uint8, `plan.bytes` long) at which the chunks belong, in the layout's order."""
    return [into[entry.start : entry.end].view(entry.dtype).view(entry.shape) for entry in plan.entries]


def stage(
    plan: Layout, chunks: Sequence[Chunk], into: torch.Tensor, views: list[torch.Tensor] | None = None
) -> None:
    """Copy the chunks to their places in `into`, or to `views` if the caller has them from `places`.

    From a GPU to pinned memory the copies may still run at the return.
    """
    torch._foreach_copy_(  # for many small tensors twice as fast as single copies
        places(plan, into) if views is None else views,
        [chunks[number].data for number in plan.order],
        non_blocking=True,
    )


def seal(plan: Layout, memory_of_part: torch.Tensor) -> Part:
    """Add checksums and header to a part staged in memory, which can be read from then on; return its record."""
    sums = b"".join(
        digest.block_sum(block) for entry in plan.entries for block in blocks(memory_of_part, entry)
    )
    return finish(plan, memory_of_part, sums, "part")


def finish(plan: Layout, memory_of_part: torch.Tensor, sums: bytes, name: str) -> Part:
    """Write header and checksums in front of the tensors of a part in memory; return the part's record.

    That has name, bytes and the SHA-256 of the front.
    """
    front = plan.head + sums
    memory.view(memory_of_part[: len(front)])[:] = front
    return Part(name, plan.bytes, hashlib.sha256(front).hexdigest())


def blocks(memory_of_part: torch.Tensor, entry: PartEntry) -> tuple[torch.Tensor, ...]:
    """Return views of the blocks, of at most 1 MiB, of one tensor in a part."""
    return split_blocks(memory_of_part[entry.start : entry.end])


def split_blocks(data: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return views of the bytes in blocks of 1 MiB; only the last may be shorter. Empty for no bytes."""
    return torch.split(data, digest.BLOCK_BYTES) if data.numel() else ()


class Reader:
    """A part with verified length, header and checksums; its tensors are verified as they are read."""

    def __init__(self, source: CheckpointSource, part: Part) -> None:
        self._source, self._name = source, part.file
        if (size := source.size()) != part.bytes:
            raise Damaged(f"{part.file} has {size} bytes, its manifest says {part.bytes}")
        length = int.from_bytes(self._bytes(0, min(8, size)), "little")
        if 8 + length > min(size, _LARGEST_HEADER):
            raise Damaged(f"{part.file}: the header length {length} exceeds the file or the format's limit")
        head = length.to_bytes(8, "little") + self._bytes(8, length)
        try:
            self.entries = _entries(head)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise Damaged(f"{part.file}: cannot parse the header: {error}") from None
        sums = sum(digest.blocks(entry.end - entry.start) for entry in self.entries)
        body = len(head) + sums * digest.SUM_BYTES
        if body + sum(entry.end - entry.start for entry in self.entries) != size:
            raise Damaged(f"{part.file}: the header does not match the length of the file")
        self._sums = self._bytes(len(head), body - len(head))
        if hashlib.sha256(head + self._sums).hexdigest() != part.digest:
            raise Damaged(
                f"{part.file} has another header or other block checksums than were saved: its checksum differs"
            )

    def read(self, entry: PartEntry, worker: BackgroundWorker | None = None) -> torch.Tensor:
        """Return a chunk of the part as a verified tensor; with `worker` it is verified when that has finished."""
        return self.read_bytes(entry, 0, entry.end - entry.start, worker).view(entry.dtype).view(entry.shape)

    def read_bytes(
        self, entry: PartEntry, start: int, end: int, worker: BackgroundWorker | None = None
    ) -> torch.Tensor:
        """Return verified bytes of a chunk as a uint8 tensor, reading only the blocks that contain them.

        With `worker` they are verified later, in its thread, which raises the error; without it, before the return.
        """
        if worker is None:
            with BackgroundWorker() as local_worker:
                return self.read_bytes(entry, start, end, local_worker)
        low = start - start % digest.BLOCK_BYTES
        high = min(entry.end - entry.start, digest.blocks(end) * digest.BLOCK_BYTES)
        data = torch.empty(max(0, high - low), dtype=torch.uint8)
        for index, block in enumerate(split_blocks(data)):
            worker.do(self._verify, entry, self._fill(entry, low, index, block), block)
        return data[start - low : end - low]

    def verify(self) -> None:
        """Read and verify every byte of the part's tensors in this thread; raise Damaged if one differs.

        OSError if it cannot be read.
        """
        scratch = torch.empty(digest.BLOCK_BYTES, dtype=torch.uint8)
        for entry in self.entries:
            for index in range(digest.blocks(entry.end - entry.start)):
                block = scratch[
                    : min(digest.BLOCK_BYTES, entry.end - entry.start - index * digest.BLOCK_BYTES)
                ]
                self._verify(entry, self._fill(entry, 0, index, block), block)

    def _fill(self, entry: PartEntry, low: int, index: int, block: torch.Tensor) -> int:
        """Read one block of a tensor into `block`; return the index of its checksum.

        `index` is counted from the offset `low` in the tensor.
        """
        self._source.read(entry.start + low + index * digest.BLOCK_BYTES, memory.view(block))
        return entry.first_sum + low // digest.BLOCK_BYTES + index

    def _verify(self, entry: PartEntry, number: int, block: torch.Tensor) -> None:
        expected = self._sums[number * digest.SUM_BYTES : (number + 1) * digest.SUM_BYTES]
        if digest.block_sum(block) != expected:
            raise Damaged(
                f"{self._name} holds other bytes of {entry.name} than were saved: its checksum differs"
            )

    def _bytes(self, start: int, length: int) -> bytes:
        data = bytearray(length)
        self._source.read(start, memoryview(data))
        return bytes(data)


def _entries(head: bytes) -> tuple[PartEntry, ...]:
    """Return the entries of a part's header in byte order; each tensor begins where the one before it ends.

    Raises:
        ValueError: a shape does not match the length of its tensor.
    """
    header = json.loads(head[8:])
    boxes = json.loads(header.pop("__metadata__")["boxes"])
    body_start = len(head) + header.pop(SUMS)["data_offsets"][1]
    end, first_sum, entries = body_start, 0, []
    for key, fields in header.items():
        shape = tuple(int(size) for size in fields["shape"])
        name, full_shape, offset = boxes.get(key, (key, shape, (0,) * len(shape)))
        dtype = NAMED[fields["dtype"]]
        start, end = end, end + torch.Size(shape).numel() * dtype.itemsize
        if min(shape, default=0) < 0 or end - start != fields["data_offsets"][1] - fields["data_offsets"][0]:
            raise ValueError(f"{key} of shape {shape} is {end - start} bytes")
        entries.append(PartEntry(name, dtype, shape, tuple(full_shape), tuple(offset), start, end, first_sum))
        first_sum += digest.blocks(end - start)
    return tuple(entries)


def _alignment(chunk: Chunk) -> tuple[bool, int]:
    """Return a sort key that aligns each tensor for its dtype: multiples of 64 bytes first, then wide dtypes."""
    return _bytes(chunk) % _ALIGNED != 0, -chunk.data.element_size()


def _key(chunk: Chunk) -> str:
    """Return a key of a chunk in a part: the tensor's name, with `@OFFSET` for a piece.

    A rank may hold several pieces of a tensor.
    """
    return chunk.name if chunk.full_shape is None else f"{chunk.name}@{','.join(map(str, chunk.offset))}"


def _header_fields(dtype: torch.dtype, shape: tuple[int, ...], start: int, end: int) -> dict[str, Any]:
    return {"dtype": DTYPES[dtype], "shape": list(shape), "data_offsets": [start, end]}


def _bytes(chunk: Chunk) -> int:
    return chunk.data.numel() * chunk.data.element_size()
