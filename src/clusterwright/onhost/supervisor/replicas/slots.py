"""Memory of the agent's for copies of one rank's state: a memfd with two slots, which a rank finds as a path.

The first page says what lies in the slots. Each slot begins at an offset that no length reaches; the file is sparse.
A slot's mark is cleared before its bytes change and set when they are whole, so that who reads the same mark before
and after has read what was written. runtime/slots.py writes the same layout; a test holds the two together.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

SLOTS = 2
PAGE = 4096
# mark, step, generation, world size, rank, length, and the checksum of the bytes as text, empty until it is known
HEADER = struct.Struct("<6Q64s")
HEADER_EVERY = 256
# where the agent says how many bytes each slot may hold
CAPACITY_OFFSET = 1024
REFUSED = (1 << 64) - 1
# one tebibyte apart: no rank's part is as long
SLOT_STRIDE = 1 << 40
_UINT64 = struct.Struct("<Q")


@dataclass(frozen=True)
class Part:
    """One rank's state after a step; `generation` made it, among so many ranks."""

    step: int
    generation: int
    world_size: int
    rank: int
    length: int
    digest: str

    @property
    def key(self) -> Tuple[int, int, int, int]:
        """What tells it from every other part of the run."""
        return (self.generation, self.step, self.world_size, self.rank)


class Slots:
    """One memfd; what is in it lives as long as this process, whoever wrote it."""

    def __init__(self, name: str) -> None:
        self.fd = os.memfd_create(f"clusterwright-{name}", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, PAGE)
        self._page = mmap.mmap(self.fd, PAGE)

    @property
    def path(self) -> str:
        """Where processes of the same user open it."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def read(self, slot: int) -> Optional[Tuple[int, Part]]:
        """Mark and part of a slot; None when there is no whole one."""
        stamp, step, generation, world_size, rank, length, digest = HEADER.unpack_from(
            self._page, slot * HEADER_EVERY
        )
        if not stamp or stamp != _UINT64.unpack_from(self._page, slot * HEADER_EVERY)[0]:
            return None
        part = Part(
            step, generation, world_size, rank, length, digest.rstrip(b"\0").decode("ascii", "replace")
        )
        return stamp, part

    def parts(self) -> Iterator[Tuple[int, int, Part]]:
        """Slot, mark and part, where there is a whole one."""
        for slot in range(SLOTS):
            entry = self.read(slot)
            if entry:
                yield (slot, *entry)

    def clear(self, slot: int) -> None:
        """Nothing in the slot counts any more."""
        _UINT64.pack_into(self._page, slot * HEADER_EVERY, 0)

    def write(self, slot: int, part: Part) -> None:
        """Say what the slot holds; its bytes are there already."""
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
        """The bytes of a slot, made as long as that if they are not."""
        start = offset(slot)
        if os.fstat(self.fd).st_size < start + length:
            os.ftruncate(self.fd, start + length)
        return mmap.mmap(self.fd, max(length, 1), offset=start)

    def grant(self, capacity: int) -> None:
        """Make room for so many bytes in each slot, so that nobody waits for it later, and say so.

        Raises:
            OSError: the kernel has none.
        """
        for slot in range(SLOTS):
            os.posix_fallocate(self.fd, offset(slot), capacity)
        _UINT64.pack_into(self._page, CAPACITY_OFFSET, capacity)

    def refuse(self) -> None:
        """Say that there is no room."""
        _UINT64.pack_into(self._page, CAPACITY_OFFSET, REFUSED)

    def reconsider(self) -> None:
        """A new generation may ask again, if there was no room for the one before."""
        if self.capacity == REFUSED:
            _UINT64.pack_into(self._page, CAPACITY_OFFSET, 0)

    @property
    def capacity(self) -> int:
        """Bytes that each slot may hold."""
        return int(_UINT64.unpack_from(self._page, CAPACITY_OFFSET)[0])

    def allocated_bytes(self) -> int:
        """The memory that it takes now."""
        return os.fstat(self.fd).st_blocks * 512

    def close(self) -> None:
        """Let go of the memory; who has it open keeps it until they close too."""
        self._page.close()
        os.close(self.fd)


def offset(slot: int) -> int:
    """Where the bytes of a slot begin."""
    return (slot + 1) * SLOT_STRIDE
