"""Shows the agent how far this rank is: a few words of memory, written without a system call.

Without an agent nothing is written. The page is described in the agent's own progress.py, which this folder does
not import; a test holds the two together.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from collections.abc import Iterator, Mapping

PAGE = 4096
STEP, PHASE, MOVED, COPIED, SHIPPED, REGROUP = 2, 3, 4, 5, 6, 7
STARTING, STEPPING, PAUSED = 0, 1, 2


class Progress:
    """This rank's page."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        path, _, offset = environ.get("CLUSTERWRIGHT_PROGRESS", "").rpartition(":")
        self._cells = memoryview(bytearray(PAGE)).cast("Q")
        if path:
            with contextlib.suppress(OSError, ValueError):  # an agent that is gone has nobody to look
                self._cells = _map_page(path, int(offset))

    def stepped(self, step: int) -> None:
        """So many steps are complete; the rank goes on stepping."""
        self._cells[MOVED] = time.monotonic_ns()
        self._cells[STEP] = step
        self._cells[PHASE] = STEPPING

    def copied(self, step: int) -> None:
        """The state of this step has been copied to memory."""
        self._cells[COPIED] = step

    @property
    def shipped(self) -> int:
        """The newest step whose copy has reached the neighbour; the agent writes it."""
        return self._cells[SHIPPED]

    @property
    def regroup(self) -> bool:
        """Whether all ranks are to leave, since a generation with more of them begins at once; the agent says so."""
        return bool(self._cells[REGROUP])

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, the rank does something that is no step, and may take its time: saving, loading, evaluating."""
        phase, self._cells[PHASE] = self._cells[PHASE], PAUSED
        try:
            yield
        finally:
            self._cells[MOVED] = time.monotonic_ns()
            self._cells[PHASE] = phase


def _map_page(path: str, offset: int) -> memoryview:
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        memory = mmap.mmap(file, offset + PAGE)
    finally:
        os.close(file)
    return memoryview(memory)[offset : offset + PAGE].cast("Q")
