"""This rank's side of the agent's shared memory for in-memory checkpoints: two slots and a header page.

The layout is documented in the agent's slots.py, which this package does not import; a test compares the two.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from dataclasses import dataclass

import torch

FORMAT = 1  # of the layout below and of the parts in it
SLOTS = 2
PAGE = 4096
HEADER = struct.Struct("<6Q64s")
HEADER_EVERY = 256
CAPACITY_OFFSET = 1024
FORMAT_OFFSET = 2048
REFUSED = (1 << 64) - 1
SLOT_STRIDE = 1 << 40
_UINT64 = struct.Struct("<Q")


@dataclass(frozen=True)
class Stored:
    """A complete part in a slot."""

    slot: int
    step: int
    generation: int
    world_size: int
    rank: int
    bytes: int
    digest: str


class Slots:
    """The shared memory at this path; raises OSError if an agent of another version created it."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._page = mmap.mmap(self._file, PAGE)
        self._mapped: dict[int, torch.Tensor] = {}
        if (written := int(_UINT64.unpack_from(self._page, FORMAT_OFFSET)[0])) != FORMAT:
            self.close()
            raise OSError(f"the agent's memory has format {written}; this version reads {FORMAT}")

    @property
    def capacity(self) -> int:
        """Return the bytes that the agent grants each slot; 0 before its answer, REFUSED without enough memory."""
        return int(_UINT64.unpack_from(self._page, CAPACITY_OFFSET)[0])

    def stored(self) -> list[Stored]:
        """Return the complete parts in this rank's slots; empty if there are none."""
        return [entry for slot in range(SLOTS) if (entry := self._read(slot))]

    def clear(self, slot: int) -> None:
        """Mark a slot as empty, before its bytes change."""
        _UINT64.pack_into(self._page, slot * HEADER_EVERY, 0)

    def write(self, part: Stored) -> None:
        """Write the header of a slot with complete bytes (step, generation, rank, size, digest), which publishes it."""
        header_offset = part.slot * HEADER_EVERY
        fields = (0, part.step, part.generation, part.world_size, part.rank, part.bytes)
        HEADER.pack_into(self._page, header_offset, *fields, part.digest.encode())
        _UINT64.pack_into(self._page, header_offset, time.monotonic_ns())

    def bytes(self, slot: int, length: int) -> torch.Tensor:
        """Return the first `length` bytes of a slot as a flat uint8 tensor that shares the memory.

        The slot is mapped if needed.
        """
        tensor = self._mapped.get(slot)
        if tensor is None or tensor.numel() < length:
            size = max(length, self.capacity if self.capacity != REFUSED else 0)
            mapping = mmap.mmap(self._file, size, offset=(slot + 1) * SLOT_STRIDE)
            tensor = self._mapped[slot] = torch.frombuffer(mapping, dtype=torch.uint8)
        return tensor[:length]

    def close(self) -> None:
        """Unmap the header page; tensors on the slots stay valid."""
        self._mapped.clear()
        self._page.close()
        os.close(self._file)

    def _read(self, slot: int) -> Stored | None:
        header_offset = slot * HEADER_EVERY
        stamp, step, generation, world_size, rank, length, digest = HEADER.unpack_from(
            self._page, header_offset
        )
        if not stamp or stamp != _UINT64.unpack_from(self._page, header_offset)[0]:
            return None
        text = digest.rstrip(b"\0").decode("ascii", "replace")
        return Stored(slot, step, generation, world_size, rank, length, text)
