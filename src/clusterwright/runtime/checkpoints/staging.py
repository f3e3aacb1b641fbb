"""Staging memory of a save: training waits for the copy into it, a thread writes the part from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from clusterwright.runtime.checkpoints import part
from clusterwright.runtime.checkpoints.ahead import Ahead
from clusterwright.runtime.checkpoints.part import Chunk, Layout

# the state may grow a little: a number by one digit, a list by one entry
_SLACK = 1.02
_SLACK_BYTES = 1 << 20


class Staging:
    """Staging memory that all saves reuse, since new memory costs far more than the copy into it."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._cuda = device, device.type == "cuda"
        self._memory: Ahead | None = None
        self._stream: Any = None
        self._plan: tuple[Any, Layout] = ((), part.layout([]))
        self._places: list[torch.Tensor] = []

    def plan(self, chunks: Sequence[Chunk]) -> Layout:
        """Return the layout of a part with these chunks, cached while their names and shapes stay the same."""
        key = [
            (chunk.name, chunk.data.shape, chunk.data.dtype, chunk.full_shape, chunk.offset)
            for chunk in chunks
        ]
        if key != self._plan[0]:
            self._plan, self._places = (key, part.layout(chunks)), []
        return self._plan[1]

    def prepare(self, length: int) -> Ahead:
        """Return memory for parts of about `length` bytes, which a thread starts to allocate unless it is there."""
        if self._memory and self._memory.bytes >= length:
            return self._memory
        if self._memory:
            self._memory.drop()
        self._memory, self._places = None, []  # freed before more is allocated
        self._memory = Ahead(int(length * _SLACK) + _SLACK_BYTES, self._device)
        return self._memory

    def stage(self, plan: Layout, chunks: Sequence[Chunk]) -> torch.Tensor:
        """Copy the chunks to their places in staging memory and return that, which the next call overwrites.

        On a GPU on a separate stream, to pinned memory; returns when the copy is complete.
        """
        staged = self.prepare(plan.bytes).claim()[: plan.bytes]
        self._places = self._places or part.places(plan, staged)
        if not self._cuda:
            part.stage(plan, chunks, staged, self._places)
            return staged
        self._stream = self._stream or torch.cuda.Stream()  # type: ignore[no-untyped-call]  # (torch has no types here)
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            part.stage(plan, chunks, staged, self._places)
        self._stream.synchronize()  # the next step overwrites the sources
        return staged
