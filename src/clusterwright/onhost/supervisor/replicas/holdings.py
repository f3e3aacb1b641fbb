"""The parts of the training state in one host's memory: those of its own ranks, and replicas of the previous host's."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import BinaryIO, Dict, Iterator, List, Optional, Tuple

from clusterwright.onhost.supervisor.replicas.slots import SlotPart, Slots, offset
from clusterwright.onhost.supervisor.wire import Message

# generation, step, world size, rank
Key = Tuple[int, int, int, int]
# generation and step of a set of parts
Moment = Tuple[int, int]


@dataclass(frozen=True)
class Lent:
    """A part opened for one reader: its own file descriptor, and the slot's stamp at that time."""

    slots: Slots
    slot: int
    stamp: int
    part: SlotPart
    file: BinaryIO

    @property
    def start(self) -> int:
        """Return the offset in bytes of the part in the file of its slots."""
        return offset(self.slot)

    def unchanged(self) -> bool:
        """Return True if the part's slot was not written since it was opened."""
        current = self.slots.read(self.slot)
        return current is not None and current[0] == self.stamp


class Holdings:
    """All parts of checkpoints in this agent's memory; thread-safe, since each call takes the lock.

    A generation that resumed from a step invalidates parts of older generations beyond that step.
    """

    def __init__(self, ranks: int) -> None:
        self.local_slots = [Slots(f"rank-{number}") for number in range(ranks)]
        self._fence = (0, 0)
        self._foreign: Dict[Key, Slots] = {}
        self._idle: List[Slots] = []
        self._lock = threading.Lock()

    def lend(self, key: Key) -> Optional[Lent]:
        """Return a part of a checkpoint opened for reading, None if it is not here; the caller closes its file."""
        with self._lock:
            for slots, slot, stamp, part in self._places():
                if part.key == key:
                    return Lent(slots, slot, stamp, part, os.fdopen(os.dup(slots.fd), "rb"))
        return None

    def path(self, key: Key) -> str:
        """Return the path by which processes of this host open a part's memory; "" if the part is not here."""
        with self._lock:
            return next((slots.path for slots, *_, part in self._places() if part.key == key), "")

    def resumed(self, generation: int, step: int) -> None:
        """Record that a generation resumed from this step; recycle the replicas that this makes invalid."""
        with self._lock:
            if generation > self._fence[0]:
                self._fence = (generation, step)
            for key in [key for key in self._foreign if self._void(key)]:
                self._recycle(self._foreign.pop(key))

    def supersede(self, new: Moment, complete: Optional[Moment]) -> None:
        """Recycle replicas older than the generation and step `new`, except those of `complete`.

        `complete` is the newest set of which every rank has its part.
        """
        with self._lock:
            for key in [key for key in self._foreign if key[:2] < new and key[:2] != complete]:
                self._recycle(self._foreign.pop(key))

    def allocate(self) -> Slots:
        """Return memory (slots) for a part of another host, recycled if possible."""
        with self._lock:
            return self._idle.pop() if self._idle else Slots("neighbor")

    def store(self, slots: Slots, part: SlotPart) -> None:
        """Add the replica of a part that was received completely into these slots; the previous one is recycled."""
        slots.write(0, part)
        with self._lock:
            previous = self._foreign.pop(part.key, None)
            self._foreign[part.key] = slots
            if previous:
                self._recycle(previous)

    def release(self, slots: Slots) -> None:
        """Recycle slots from `allocate` whose transfer failed."""
        with self._lock:
            self._recycle(slots)

    def report(self) -> Message:
        """Return all valid parts, as [generation, step, world size, rank], and the newest fence.

        The fence is generation and step of the last resumption: replicas beyond it are invalid.
        """
        with self._lock:
            return {"parts": sorted({part.key for *_, part in self._places()}), "fence": list(self._fence)}

    def allocated_bytes(self) -> int:
        """Return the bytes of memory that all slots of this host take now."""
        with self._lock:
            return sum(
                slots.allocated_bytes() for slots in [*self.local_slots, *self._foreign.values(), *self._idle]
            )

    def _places(self) -> Iterator[Tuple[Slots, int, int, SlotPart]]:
        for slots in [*self.local_slots, *self._foreign.values()]:
            for slot, stamp, part in slots.parts():
                if not self._void(part.key):
                    yield slots, slot, stamp, part

    def _void(self, key: Key) -> bool:
        generation, step = self._fence
        return key[0] < generation and key[1] > step

    def _recycle(self, slots: Slots) -> None:
        """Keep the slots for the next part, as their memory is allocated already; close surplus ones."""
        slots.clear(0)
        if len(self._idle) < len(self.local_slots):
            self._idle.append(slots)
        else:
            slots.close()
