"""Work on what was read, done in a thread while the next is read."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

_BATCH = (
    8  # pieces of work; handed over one by one, the two threads spend a tenth of their time on taking turns
)

Piece = tuple[Callable[..., None], tuple[Any, ...]]


class BackgroundWorker:
    """`with Beside() as beside`: at its end all that was given to it is done, and what was raised there is raised.

    At the end both threads do what is left, so that on a machine without a core to spare nobody waits for the other.
    Little work is done without a thread. The first error ends it: what was given after that is not done.
    """

    def __init__(self) -> None:
        self._batch: list[Piece] = []
        self._batches: queue.SimpleQueue[list[Piece]] = queue.SimpleQueue()  # an empty one is a thread's last
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> BackgroundWorker:  # noqa: PYI034 (Self is of Python 3.11)
        """Nothing is done yet."""
        return self

    def do(self, action: Callable[..., None], *arguments: Any) -> None:
        """Have this done; raises what an earlier one raised."""
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
        """Wait, unless the work is in vain because something else has failed."""
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
            except BaseException as error:  # noqa: BLE001 (raised where it is waited for)
                self._error = self._error or error
