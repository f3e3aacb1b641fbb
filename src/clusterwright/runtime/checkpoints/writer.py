"""Writes in-memory checkpoints of this rank into its agent's shared memory and notifies the agent."""

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

# the state may grow a little: a number by one digit, a list by one entry
_SLACK = 1.02
_SLACK_BYTES = 1 << 20


@dataclass(frozen=True)
class SaveMoment:
    """A generation and a step at which all ranks made a copy."""

    generation: int
    step: int


class Unable:
    """A writer without access to the agent's memory; through the vote it turns off copies on all ranks."""

    refused = True

    def __init__(self, reason: str) -> None:
        log_line(f"in-memory checkpoints are off: {reason}")

    def ready(self) -> bool:
        """Return False: without access to the agent's memory there is no slot to copy to."""
        return False

    def request_capacity(self, chunks: Sequence[Chunk]) -> None:
        """Do nothing: there is no agent to request memory from."""

    def resumed(self, step: int) -> None:
        """Do nothing: there is no agent to report to."""

    def copy(self, step: int, chunks: Sequence[Chunk], complete: SaveMoment | None) -> int:  # noqa: ARG002 (Writer's signature)
        """Return 0 bytes: without access to the agent's memory nothing is copied."""
        return 0

    def settle(self) -> None:
        """Do nothing: there is no copy to wait for."""

    def close(self) -> None:
        """Do nothing, as this writer has no pipe open."""


class Writer:
    """The only writer of this rank's slots during its generation."""

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
        """Return True if the agent has refused memory for in-memory copies of this rank's state."""
        return self._slots.capacity == REFUSED

    def ready(self) -> bool:
        """Return True if a slot is large enough and the last in-memory copy is complete, without waiting.

        Raise an error of that copy. A newly granted slot is mapped in the background first, which gives False.
        """
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
        """Request slots from the agent that are large enough for these chunks; `ready` polls its answer."""
        self._request_bytes(self._staging.plan(chunks).bytes)

    def resumed(self, step: int) -> None:
        """Report to the agent the step from which this generation continues."""
        self._send(resumed=step)

    def copy(self, step: int, chunks: Sequence[Chunk], complete: SaveMoment | None) -> int:
        """Copy the chunks into a slot of shared memory that the newest complete set does not use; return the bytes.

        0 if the slot is too small. The copy is valid once a thread has added checksums and header.
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
        """Wait until the last in-memory copy is valid, and raise its error; return at once if there is none."""
        if self._work:
            self._work.result()

    def close(self) -> None:
        """Wait for the last copy and close the pipe to the agent."""
        self._thread.shutdown()
        os.close(self._pipe)

    def _request_bytes(self, length: int) -> None:
        self._required_bytes = int(length * _SLACK) + _SLACK_BYTES
        self._send(room=self._required_bytes)

    def _prepare(self, capacity: int) -> None:
        """Map both slots of shared memory and pin them for the GPU, of `capacity` bytes each.

        The thread does so, that training does not wait for it.
        """
        for slot in range(SLOTS):
            pinned.register(self._slots.bytes(slot, capacity), self._group.device)
        self._prepared = capacity

    def _free(self, complete: SaveMoment | None) -> int:
        entries_by_slot = {entry.slot: entry for entry in self._slots.stored()}
        needed = [
            entry.slot
            for entry in entries_by_slot.values()
            if SaveMoment(entry.generation, entry.step) == complete
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
        self, plan: Layout, staged: torch.Tensor, slot_step: tuple[int, int], complete: SaveMoment | None
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
        ):  # the agent has exited or does not read; then no copy counts as arrived
            os.write(self._pipe, json.dumps(line).encode() + b"\n")
