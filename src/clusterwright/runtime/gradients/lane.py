"""Buckets are added up by a thread, one after the other in their own order, which is the same on all ranks.

So a way of several collectives goes on beneath the backward pass, and nothing can come between them: the group that it
uses is its own.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class Lane:
    """`add_up` makes of a rank's bucket, by its number, that of all of them, in place."""

    def __init__(self, add_up: Callable[[int, Tensor], None]) -> None:
        self._add_up = add_up
        self._waiting: queue.SimpleQueue[tuple[int, Tensor, Any, Any]] = queue.SimpleQueue()
        self._streams: dict[torch.device, Any] = {}
        threading.Thread(target=self._work, name="gradients", daemon=True).start()

    def reduce(self, bucket: Any) -> Any:
        """The bucket of all ranks, when it is there."""
        buffer = bucket.buffer()
        future: Any = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else [])
        ready = torch.cuda.current_stream(buffer.device).record_event() if buffer.is_cuda else None
        self._waiting.put((bucket.index(), buffer, future, ready))
        return future

    def _work(self) -> None:
        while True:
            index, buffer, future, ready = self._waiting.get()
            try:
                with torch.no_grad(), self._beside(buffer, ready):
                    self._add_up(index, buffer)
                    future.set_result(buffer)
            except Exception as error:  # noqa: BLE001 (said on the page; the next asking may well succeed)
                future.set_exception(error)
            del buffer, future

    def _beside(self, buffer: Tensor, ready: Any) -> Any:
        """On a GPU, a stream of our own, once the bucket is full."""
        if ready is None:
            return torch.cuda.stream(None)
        new: Any = torch.cuda.Stream
        stream = self._streams.setdefault(buffer.device, new(buffer.device))
        stream.wait_event(ready)
        buffer.record_stream(stream)
        return torch.cuda.stream(stream)
