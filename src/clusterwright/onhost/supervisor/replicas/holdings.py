"""The parts of ranks' state that one host holds in memory: its own ranks', and those of the host before it."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import BinaryIO, Dict, Iterator, List, Optional, Tuple

from clusterwright.onhost.supervisor.replicas.slots import Part, Slots, offset
from clusterwright.onhost.supervisor.wire import Message

# generation, step, world size, rank
Key = Tuple[int, int, int, int]
# generation and step of a set of parts
Moment = Tuple[int, int]


@dataclass(frozen=True)
class Lent:
    """A part for one reader: a file of its own on the memory, and the mark that the slot had when it was found."""

    slots: Slots
    slot: int
    stamp: int
    part: Part
    file: BinaryIO

    @property
    def start(self) -> int:
        """The offset of the bytes in the file."""
        return offset(self.slot)

    def unchanged(self) -> bool:
        """Nobody has written there since."""
        current = self.slots.read(self.slot)
        return current is not None and current[0] == self.stamp


class Holdings:
    """What is there. Threads of the agent come and go here, so each call takes the lock.

    A generation that resumed from a step voids what older ones made beyond it: that history was left.
    """

    def __init__(self, ranks: int) -> None:
        self.local_slots = [Slots(f"rank-{number}") for number in range(ranks)]
        self._fence = (0, 0)
        self._foreign: Dict[Key, Slots] = {}
        self._idle: List[Slots] = []
        self._lock = threading.Lock()

    def lend(self, key: Key) -> Optional[Lent]:
        """A part to be read; whoever gets it closes its file."""
        with self._lock:
            for slots, slot, stamp, part in self._places():
                if part.key == key:
                    return Lent(slots, slot, stamp, part, os.fdopen(os.dup(slots.fd), "rb"))
        return None

    def path(self, key: Key) -> str:
        """Where processes of this host find the memory of a part; empty when it is not here."""
        with self._lock:
            return next((slots.path for slots, *_, part in self._places() if part.key == key), "")

    def resumed(self, generation: int, step: int) -> None:
        """The ranks of a generation go on from this step."""
        with self._lock:
            if generation > self._fence[0]:
                self._fence = (generation, step)
            for key in [key for key in self._foreign if self._void(key)]:
                self._recycle(self._foreign.pop(key))

    def supersede(self, new: Moment, complete: Optional[Moment]) -> None:
        """Copies of a new moment are being made: all that is older may go, but the newest set that is whole."""
        with self._lock:
            for key in [key for key in self._foreign if key[:2] < new and key[:2] != complete]:
                self._recycle(self._foreign.pop(key))

    def allocate(self) -> Slots:
        """Memory for a part of another host, used before if there is such."""
        with self._lock:
            return self._idle.pop() if self._idle else Slots("neighbour")

    def store(self, slots: Slots, part: Part) -> None:
        """What has arrived whole counts from now on."""
        slots.write(0, part)
        with self._lock:
            previous = self._foreign.pop(part.key, None)
            self._foreign[part.key] = slots
            if previous:
                self._recycle(previous)

    def release(self, slots: Slots) -> None:
        """Nothing whole has arrived."""
        with self._lock:
            self._recycle(slots)

    def report(self) -> Message:
        """All that counts, as [generation, step, world size, rank], and the newest fence."""
        with self._lock:
            return {"parts": sorted({part.key for *_, part in self._places()}), "fence": list(self._fence)}

    def allocated_bytes(self) -> int:
        """The memory that all of it takes now."""
        with self._lock:
            return sum(
                slots.allocated_bytes() for slots in [*self.local_slots, *self._foreign.values(), *self._idle]
            )

    def _places(self) -> Iterator[Tuple[Slots, int, int, Part]]:
        for slots in [*self.local_slots, *self._foreign.values()]:
            for slot, stamp, part in slots.parts():
                if not self._void(part.key):
                    yield slots, slot, stamp, part

    def _void(self, key: Key) -> bool:
        generation, step = self._fence
        return key[0] < generation and key[1] > step

    def _recycle(self, slots: Slots) -> None:
        """Kept for the next part: memory that was used before takes no time to get."""
        slots.clear(0)
        if len(self._idle) < len(self.local_slots):
            self._idle.append(slots)
        else:
            slots.close()
