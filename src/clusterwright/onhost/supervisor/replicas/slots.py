"""The agent's memory for copies of one rank's state: a memfd with two slots, which a rank opens by its path.

The first page describes the slots. Slot offsets are further apart than any part is long; the file is sparse.
A slot's stamp is cleared before its bytes change and set when they are complete, so a reader that finds the
same stamp before and after has read consistent bytes. runtime/replicas/slots.py writes the same
layout; a test compares the two.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

FORMAT = 1  # of the layout below and of the parts in it: an agent outlives an apply that brings newer ranks
SLOTS = 2
PAGE = 4096
# stamp, step, generation, world size, rank, length, and the checksum of the bytes as text, empty until it is known
HEADER = struct.Struct("<6Q64s")
HEADER_EVERY = 256
# offset of the number of bytes that each slot may hold, written by the agent
CAPACITY_OFFSET = 1024
# offset of FORMAT, written by the agent
FORMAT_OFFSET = 2048
REFUSED = (1 << 64) - 1
# one tebibyte: no rank's part is as long
SLOT_STRIDE = 1 << 40
_UINT64 = struct.Struct("<Q")


@dataclass(frozen=True)
class SlotPart:
    """One rank's state after a step, with the generation and the world size that produced it."""

    step: int
    generation: int
    world_size: int
    rank: int
    length: int
    digest: str

    @property
    def key(self) -> Tuple[int, int, int, int]:
        """Return generation, step, world size and rank, which identify the part within the run."""
        return (self.generation, self.step, self.world_size, self.rank)


class Slots:
    """The memfd with two slots of one rank; its content lives as long as this process, whichever process wrote it."""

    def __init__(self, name: str) -> None:
        self.fd = os.memfd_create(f"clusterwright-{name}", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, PAGE)
        self._page = mmap.mmap(self.fd, PAGE)
        _UINT64.pack_into(self._page, FORMAT_OFFSET, FORMAT)

    @property
    def path(self) -> str:
        """Return the path by which processes of the same user open the slots' memory (a memfd)."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def read(self, slot: int) -> Optional[Tuple[int, SlotPart]]:
        """Return stamp (time of writing) and part of a slot; None if it has no complete part."""
        stamp, step, generation, world_size, rank, length, digest = HEADER.unpack_from(
            self._page, slot * HEADER_EVERY
        )
        if not stamp or stamp != _UINT64.unpack_from(self._page, slot * HEADER_EVERY)[0]:
            return None
        part = SlotPart(
            step, generation, world_size, rank, length, digest.rstrip(b"\0").decode("ascii", "replace")
        )
        return stamp, part

    def parts(self) -> Iterator[Tuple[int, int, SlotPart]]:
        """Yield slot number, stamp and part of each slot with a complete part."""
        for slot in range(SLOTS):
            entry = self.read(slot)
            if entry:
                yield (slot, *entry)

    def clear(self, slot: int) -> None:
        """Mark the slot as having no complete part."""
        _UINT64.pack_into(self._page, slot * HEADER_EVERY, 0)

    def write(self, slot: int, part: SlotPart) -> None:
        """Write the header of a slot whose bytes are complete; from then on `read` returns its part."""
        header_offset, digest = slot * HEADER_EVERY, part.digest.encode()
        HEADER.pack_into(
            self._page,
            header_offset,
            0,
            part.step,
            part.generation,
            part.world_size,
            part.rank,
            part.length,
            digest,
        )
        _UINT64.pack_into(self._page, header_offset, time.monotonic_ns())

    def bytes(self, slot: int, length: int) -> mmap.mmap:
        """Return the mapped bytes of a slot, extended to `length` if shorter."""
        start = offset(slot)
        if os.fstat(self.fd).st_size < start + length:
            os.ftruncate(self.fd, start + length)
        return mmap.mmap(self.fd, max(length, 1), offset=start)

    def grant(self, capacity: int) -> None:
        """Allocate `capacity` bytes in each slot now, and publish the capacity to the rank.

        Raises:
            OSError: no memory.
        """
        for slot in range(SLOTS):
            os.posix_fallocate(self.fd, offset(slot), capacity)
        _UINT64.pack_into(self._page, CAPACITY_OFFSET, capacity)

    def refuse(self) -> None:
        """Publish to the rank that there is no memory for its copies."""
        _UINT64.pack_into(self._page, CAPACITY_OFFSET, REFUSED)

    def reconsider(self) -> None:
        """Let a new generation request memory again after a refusal."""
        if self.capacity == REFUSED:
            _UINT64.pack_into(self._page, CAPACITY_OFFSET, 0)

    @property
    def capacity(self) -> int:
        """Return the bytes that each slot may hold; 0 before memory is granted, REFUSED after a refusal."""
        return int(_UINT64.unpack_from(self._page, CAPACITY_OFFSET)[0])

    def allocated_bytes(self) -> int:
        """Return the memory that the slots take now, in bytes."""
        return os.fstat(self.fd).st_blocks * 512

    def close(self) -> None:
        """Close the slots' shared memory here; a process that has it open keeps it."""
        self._page.close()
        os.close(self.fd)


def offset(slot: int) -> int:
    """Return the file offset of the bytes of the slot with this number."""
    return (slot + 1) * SLOT_STRIDE
