"""Memory that a part is copied into, all that training waits for in a save, and that it is written from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from clusterwright.runtime.checkpoints import part
from clusterwright.runtime.checkpoints.ahead import Ahead
from clusterwright.runtime.checkpoints.part import Chunk, Layout

# the state grows a little: a number gets one more digit, a list one more entry
_SLACK = 1.02
_SLACK_BYTES = 1 << 20


class Staging:
    """Used again for each save, since memory that is new costs far more than the copy into it."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._cuda = device, device.type == "cuda"
        self._memory: Ahead | None = None
        self._stream: Any = None
        self._plan: tuple[Any, Layout] = ((), part.layout([]))
        self._places: list[torch.Tensor] = []

    def plan(self, chunks: Sequence[Chunk]) -> Layout:
        """Where each of these chunks goes; found again when they are like the last ones."""
        key = [
            (chunk.name, chunk.data.shape, chunk.data.dtype, chunk.full_shape, chunk.offset)
            for chunk in chunks
        ]
        if key != self._plan[0]:
            self._plan, self._places = (key, part.layout(chunks)), []
        return self._plan[1]

    def prepare(self, length: int) -> Ahead:
        """Have memory made for parts of about this length, unless it is there; nobody needs to wait for it."""
        if self._memory and self._memory.bytes >= length:
            return self._memory
        if self._memory:
            self._memory.drop()
        self._memory, self._places = None, []  # gone before there is more
        self._memory = Ahead(int(length * _SLACK) + _SLACK_BYTES, self._device)
        return self._memory

    def stage(self, plan: Layout, chunks: Sequence[Chunk]) -> torch.Tensor:
        """The chunks in their places. On a GPU they are copied on a stream of their own, to pinned memory."""
        staged = self.prepare(plan.bytes).claim()[: plan.bytes]
        self._places = self._places or part.places(plan, staged)
        if not self._cuda:
            part.stage(plan, chunks, staged, self._places)
            return staged
        self._stream = self._stream or torch.cuda.Stream()  # type: ignore[no-untyped-call]  # (torch has no types here)
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            part.stage(plan, chunks, staged, self._places)
        self._stream.synchronize()  # the next step writes over what is copied
        return staged
