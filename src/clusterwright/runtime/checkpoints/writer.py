"""This rank's hand in its agent's memory: it asks for room, copies a part into a free slot, and says so."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch

from clusterwright.runtime.checkpoints import part, pinned
from clusterwright.runtime.checkpoints.part import Chunk, Layout
from clusterwright.runtime.checkpoints.staging import Staging
from clusterwright.runtime.events import log_line
from clusterwright.runtime.group import Group
from clusterwright.runtime.replicas.slots import REFUSED, SLOTS, Slots, Stored

# the state grows a little: a number gets one more digit, a list one more entry
_SLACK = 1.02
_SLACK_BYTES = 1 << 20


@dataclass(frozen=True)
class Moment:
    """The step of a generation at which all ranks copied."""

    generation: int
    step: int


class Unable:
    """The hand of a rank that cannot reach its agent's memory: it says no for all of them."""

    refused = True

    def __init__(self, why: str) -> None:
        log_line(f"no copies in memory: {why}")

    def ready(self) -> bool:
        """Never."""
        return False

    def request_capacity(self, chunks: Sequence[Chunk]) -> None:
        """Nobody."""

    def resumed(self, step: int) -> None:
        """Nobody hears it."""

    def copy(self, step: int, chunks: Sequence[Chunk], complete: Moment | None) -> int:  # noqa: ARG002 (Writer's signature)
        """Nothing."""
        return 0

    def settle(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """Nothing is open."""


class Writer:
    """Only this rank's process writes these slots while its generation lasts."""

    def __init__(self, group: Group, generation: int, environ: Mapping[str, str]) -> None:
        self._group, self._generation = group, generation
        self._slots = Slots(environ["CLUSTERWRIGHT_COPY"])
        self._pipe = os.open(environ["CLUSTERWRIGHT_COPY_WAKE"], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._staging = Staging(group.device)
        self._required_bytes = 0
        self._thread = ThreadPoolExecutor(1, "copies")
        self._prepared = 0
        self._work: Future[None] | None = None

    @property
    def refused(self) -> bool:
        """There is no memory for copies on this host."""
        return self._slots.capacity == REFUSED

    def ready(self) -> bool:
        """There is room, and the last copy is complete. What is missing is set off, and nobody waits for it here."""
        if (
            not self._required_bytes
            or self._slots.capacity < self._required_bytes
            or (self._work and not self._work.done())
        ):
            return False
        if self._prepared < self._required_bytes:
            self._work = self._thread.submit(self._prepare, self._slots.capacity)
            return False
        if self._work:
            self._work.result()
        return True

    def request_capacity(self, chunks: Sequence[Chunk]) -> None:
        """Tell the agent how much room a slot needs; its answer comes by itself."""
        self._request_bytes(self._staging.plan(chunks).bytes)

    def resumed(self, step: int) -> None:
        """Tell the agent where this generation goes on."""
        self._send(resumed=step)

    def copy(self, step: int, chunks: Sequence[Chunk], complete: Moment | None) -> int:
        """Copy the part into a slot that the newest whole set does not need; its bytes, 0 when the room is too small.

        It counts when sums and header are there too, which a thread adds.
        """
        plan = self._staging.plan(chunks)
        if plan.bytes > self._prepared:
            self._request_bytes(plan.bytes)
            return 0
        slot = self._free(complete)
        self._slots.clear(slot)
        staged = self._slots.bytes(slot, plan.bytes)
        part.stage(plan, chunks, staged)
        pinned.wait(self._group.device)
        self._work = self._thread.submit(self._seal, plan, staged, (slot, step), complete)
        return plan.bytes

    def settle(self) -> None:
        """The last copy is complete, and counts."""
        if self._work:
            self._work.result()

    def close(self) -> None:
        """The last copy is complete."""
        self._thread.shutdown()
        os.close(self._pipe)

    def _request_bytes(self, length: int) -> None:
        self._required_bytes = int(length * _SLACK) + _SLACK_BYTES
        self._send(room=self._required_bytes)

    def _prepare(self, capacity: int) -> None:
        """Have the memory mapped, and known to the GPU, before training would wait for it."""
        for slot in range(SLOTS):
            pinned.register(self._slots.bytes(slot, capacity), self._group.device)
        self._prepared = capacity

    def _free(self, complete: Moment | None) -> int:
        entries_by_slot = {entry.slot: entry for entry in self._slots.stored()}
        needed = [
            entry.slot
            for entry in entries_by_slot.values()
            if Moment(entry.generation, entry.step) == complete
        ]
        free = [slot for slot in range(SLOTS) if slot not in needed]
        age = {
            slot: (entries_by_slot[slot].generation, entries_by_slot[slot].step)
            if slot in entries_by_slot
            else (-1, -1)
            for slot in free
        }
        return min(free, key=age.__getitem__)

    def _seal(
        self, plan: Layout, staged: torch.Tensor, slot_step: tuple[int, int], complete: Moment | None
    ) -> None:
        slot, step = slot_step
        new_part = part.seal(plan, staged)
        moment = (self._group.world_size, self._group.rank)
        self._slots.write(Stored(slot, step, self._generation, *moment, new_part.bytes, new_part.digest))
        complete_key = [complete.generation, complete.step] if complete else None
        self._send(copy=[self._generation, step, *moment], whole=complete_key)

    def _send(self, **fields: Any) -> None:
        line = {"generation": self._generation, "local_rank": self._group.local_rank, **fields}
        with contextlib.suppress(
            OSError
        ):  # the agent is gone, or does not read: then no copy is taken as arrived
            os.write(self._pipe, json.dumps(line).encode() + b"\n")
