"""One rank's part of a checkpoint: the very same bytes in a file, in memory and on the wire.

    8 bytes    how long the header is
    header     JSON: name, dtype, shape and place of each tensor; for a piece of a sharded tensor also where it belongs
    sums       one sum for each block of each tensor (digest.py), in their order
    tensors    their bytes

That is the safetensors format, so any tool can read it without us. `Part`, which the manifest keeps, holds the
length and one digest over header and sums; so any block can be verified alone. Nothing in a part is pickled but the
tensors named `rank` and `tree`, which hold what is not a tensor.

To make one: `layout(chunks)` says how long it will be (`Layout.bytes`) and where everything goes; `stage` copies
the tensors into memory of that length, and is all that training has to wait for; `seal` then adds the sums and the
header, in any thread, and returns the Part. From then on the memory holds a part.
To read one: `Reader(source, part)`, where the source is a file, memory or one of the caller's own (source.py).
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
from clusterwright.runtime.checkpoints.source import Damaged, Source

DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint8: "U8", torch.bool: "BOOL", torch.complex64: "C64",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
}  # fmt: skip
SUMS = "sums"
NAMED = {name: dtype for dtype, name in DTYPES.items()}
_LARGEST_HEADER = 100_000_000  # bytes; the limit of the safetensors format itself
_ALIGNED = 64  # bytes; a header of such a length leaves every tensor where its dtype may lie


class Chunk(NamedTuple):  # thousands are made in each save, and a dataclass takes four times as long to make
    """A box of a tensor, as one rank holds it: its place in the tensor, and that tensor's shape.

    `full_shape` is None when the box is the tensor.
    """

    name: str
    data: torch.Tensor
    full_shape: tuple[int, ...] | None = None
    offset: tuple[int, ...] = ()


@dataclass(frozen=True)
class Entry:
    """Where one chunk lies in a part: its bytes begin at `start`, its sums at number `first_sum` of all sums."""

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
    """What is kept elsewhere (in the manifest, on a slot's first page) to know a part by."""

    file: str
    bytes: int
    digest: str


@dataclass(frozen=True)
class Layout:
    """Where everything in a part goes; the same for the next save, as long as the state has the same tensors."""

    head: bytes
    entries: tuple[Entry, ...]
    order: tuple[int, ...]
    bytes: int

    @property
    def body(self) -> int:
        """Where the tensors begin; the sums lie between here and the header's end."""
        return self.entries[0].start if self.entries else self.bytes


def layout(chunks: Sequence[Chunk]) -> Layout:
    """The layout of a part that holds these chunks, in this order but for alignment."""
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
            raise ValueError(f"two tensors are called {key}")
        start, end = end, end + _bytes(chunk)
        header[key] = _header_fields(chunk.data.dtype, tuple(chunk.data.shape), start, end)
        if chunk.full_shape is not None:
            boxes[key] = [chunk.name, chunk.full_shape, chunk.offset]
    header["__metadata__"]["boxes"] = json.dumps(boxes)  # a text, as the format has it
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNED)
    head = len(text).to_bytes(8, "little") + text
    return Layout(head, _entries(head), order, len(head) + end)


def places(plan: Layout, into: torch.Tensor) -> list[torch.Tensor]:
    """Where the chunks go, in the layout's order: views of `into`, which is flat, uint8 and `plan.bytes` long."""
    return [into[entry.start : entry.end].view(entry.dtype).view(entry.shape) for entry in plan.entries]


def stage(
    plan: Layout, chunks: Sequence[Chunk], into: torch.Tensor, views: list[torch.Tensor] | None = None
) -> None:
    """Copy the chunks to their places (`views`, where these are known already); one copy of each, no more."""
    torch._foreach_copy_(  # as torch.optim does; for many small tensors twice as fast as one by one
        places(plan, into) if views is None else views,
        [chunks[number].data for number in plan.order],
        non_blocking=True,
    )


def seal(plan: Layout, memory_of_part: torch.Tensor, name: str = "part") -> Part:
    """Add sums and header to what was staged; from now on the memory holds a part that can be read."""
    sums = b"".join(
        digest.block_sum(block) for entry in plan.entries for block in blocks(memory_of_part, entry)
    )
    return finish(plan, memory_of_part, sums, name)


def finish(plan: Layout, memory_of_part: torch.Tensor, sums: bytes, name: str) -> Part:
    """Put the header and the sums in their place."""
    front = plan.head + sums
    memory.view(memory_of_part[: len(front)])[:] = front
    return Part(name, plan.bytes, hashlib.sha256(front).hexdigest())


def blocks(memory_of_part: torch.Tensor, entry: Entry) -> tuple[torch.Tensor, ...]:
    """The blocks of one tensor."""
    return split_blocks(memory_of_part[entry.start : entry.end])


def split_blocks(data: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Blocks, of which only the last may be short; none of nothing."""
    return torch.split(data, digest.BLOCK_BYTES) if data.numel() else ()


class Reader:
    """A part whose length, header and sums have been verified; its tensors are, as they are read."""

    def __init__(self, source: Source, part: Part) -> None:
        self._source, self._name = source, part.file
        if (size := source.size()) != part.bytes:
            raise Damaged(f"{part.file} has {size} bytes, its manifest says {part.bytes}")
        length = int.from_bytes(self._bytes(0, min(8, size)), "little")
        if 8 + length > min(size, _LARGEST_HEADER):
            raise Damaged(f"{part.file} has a header of {length} bytes, more than the file itself")
        head = length.to_bytes(8, "little") + self._bytes(8, length)
        try:
            self.entries = _entries(head)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise Damaged(f"{part.file} has a header that cannot be read: {error}") from None
        sums = sum(digest.blocks(entry.end - entry.start) for entry in self.entries)
        body = len(head) + sums * digest.SUM_BYTES
        if body + sum(entry.end - entry.start for entry in self.entries) != size:
            raise Damaged(f"{part.file} has a header that speaks of more or fewer bytes than there are")
        self._sums = self._bytes(len(head), body - len(head))
        if hashlib.sha256(head + self._sums).hexdigest() != part.digest:
            raise Damaged(
                f"{part.file} has another header or other sums than were saved: its checksum differs"
            )

    def read(self, entry: Entry, worker: BackgroundWorker | None = None) -> torch.Tensor:
        """A chunk as it was saved; with `worker` it is verified only when that has ended."""
        return self.read_bytes(entry, 0, entry.end - entry.start, worker).view(entry.dtype).view(entry.shape)

    def read_bytes(
        self, entry: Entry, start: int, end: int, worker: BackgroundWorker | None = None
    ) -> torch.Tensor:
        """Some of a chunk's bytes, in the same way; whole blocks are read, and only those that are needed."""
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
        """Read every byte, in this thread alone; raises Damaged, or OSError when it cannot be read."""
        scratch = torch.empty(digest.BLOCK_BYTES, dtype=torch.uint8)
        for entry in self.entries:
            for index in range(digest.blocks(entry.end - entry.start)):
                block = scratch[
                    : min(digest.BLOCK_BYTES, entry.end - entry.start - index * digest.BLOCK_BYTES)
                ]
                self._verify(entry, self._fill(entry, 0, index, block), block)

    def _fill(self, entry: Entry, low: int, index: int, block: torch.Tensor) -> int:
        """Read a block, the one of this index from `low` on; its number among all."""
        self._source.read(entry.start + low + index * digest.BLOCK_BYTES, memory.view(block))
        return entry.first_sum + low // digest.BLOCK_BYTES + index

    def _verify(self, entry: Entry, number: int, block: torch.Tensor) -> None:
        expected = self._sums[number * digest.SUM_BYTES : (number + 1) * digest.SUM_BYTES]
        if digest.block_sum(block) != expected:
            raise Damaged(
                f"{self._name} holds other bytes of {entry.name} than were saved: its checksum differs"
            )

    def _bytes(self, start: int, length: int) -> bytes:
        data = bytearray(length)
        self._source.read(start, memoryview(data))
        return bytes(data)


def _entries(head: bytes) -> tuple[Entry, ...]:
    """What the header says, in the order of the bytes; each tensor begins where the one before it ends."""
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
        entries.append(Entry(name, dtype, shape, tuple(full_shape), tuple(offset), start, end, first_sum))
        first_sum += digest.blocks(end - start)
    return tuple(entries)


def _alignment(chunk: Chunk) -> tuple[bool, int]:
    """Those that leave the next one aligned come first, then the wide; each then lies where its dtype may."""
    return _bytes(chunk) % _ALIGNED != 0, -chunk.data.element_size()


def _key(chunk: Chunk) -> str:
    """The tensor's name; of a piece also where it begins, as one rank may hold several pieces of a tensor."""
    return chunk.name if chunk.full_shape is None else f"{chunk.name}@{','.join(map(str, chunk.offset))}"


def _header_fields(dtype: torch.dtype, shape: tuple[int, ...], start: int, end: int) -> dict[str, Any]:
    return {"dtype": DTYPES[dtype], "shape": list(shape), "data_offsets": [start, end]}


def _bytes(chunk: Chunk) -> int:
    return chunk.data.numel() * chunk.data.element_size()
