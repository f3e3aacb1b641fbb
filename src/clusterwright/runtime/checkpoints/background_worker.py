"""A thread that processes data while the caller reads the next."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

_BATCH = 8  # tasks; queued one by one, the two threads would spend a tenth of their time on switching

Piece = tuple[Callable[..., None], tuple[Any, ...]]


class BackgroundWorker:
    """A context manager: when it exits, all queued tasks are done, and the first error of one is raised.

    At exit both threads process what is left, so that neither waits for the other on a host without a free core.
    Few tasks are done without a thread. After the first error no further tasks are done.
    """

    def __init__(self) -> None:
        self._batch: list[Piece] = []
        self._batches: queue.SimpleQueue[list[Piece]] = queue.SimpleQueue()  # an empty batch ends a thread
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> BackgroundWorker:  # noqa: PYI034 (Self is of Python 3.11)
        """Return this worker; its thread starts with the first full batch of calls."""
        return self

    def do(self, action: Callable[..., None], *arguments: Any) -> None:
        """Queue a call for the worker's thread, which starts with a full batch of calls.

        An error that an earlier call raised is raised here.
        """
        if self._error:
            raise self._error
        self._batch.append((action, arguments))
        if len(self._batch) == _BATCH:
            self._batches.put(self._batch)
            self._batch = []
            self._thread = self._thread or self._started()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the queued calls and raise their first error; after an error in the block, drop them."""
        self._error = error or self._error
        for last in (self._batch, [], []):
            self._batches.put(last)
        self._run()
        if self._thread:
            self._thread.join()
        if self._error and not error:
            raise self._error

    def _started(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, name="verify", daemon=True)
        thread.start()
        return thread

    def _run(self) -> None:
        while batch := self._batches.get():
            self._do(batch)

    def _do(self, batch: list[Piece]) -> None:
        for action, arguments in batch:
            if self._error:
                return
            try:
                action(*arguments)
            except BaseException as error:  # noqa: BLE001 (raised in the caller's thread)
                self._error = self._error or error
