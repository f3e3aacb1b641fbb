"""Reports this rank's progress to its agent through a page of shared memory, without system calls.

Without an agent nothing is shared. The layout of the page is documented in the agent's progress.py, which this
package does not import; a test compares the two.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from collections.abc import Iterator, Mapping

PAGE = 4096
STEP, PHASE, MOVED, COPIED, SHIPPED, REGROUP, RANK_TIME, WAIT_TIME = 2, 3, 4, 5, 6, 7, 8, 9
STARTING, STEPPING, PAUSED = 0, 1, 2


class Progress:
    """This rank's page of shared memory."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        path, _, offset = environ.get("CLUSTERWRIGHT_PROGRESS", "").rpartition(":")
        self._cells = memoryview(bytearray(PAGE)).cast("Q")
        if path:
            with contextlib.suppress(OSError, ValueError):  # the agent has exited: nobody reads the page
                self._cells = _map_page(path, int(offset))

    def stepped(self, step: int) -> None:
        """Record in this rank's progress page the number of completed steps and the time, for the agent."""
        self._cells[MOVED] = time.monotonic_ns()
        self._cells[STEP] = step
        self._cells[PHASE] = STEPPING

    def timed(self, rank_s: float, waited_s: float) -> None:
        """Record the total seconds of this rank's own parts of all steps, and those spent waiting for batches."""
        self._cells[RANK_TIME], self._cells[WAIT_TIME] = int(rank_s * 1e9), int(waited_s * 1e9)

    def copied(self, step: int) -> None:
        """Record in this rank's progress page the step whose state has been copied to memory."""
        self._cells[COPIED] = step

    @property
    def shipped(self) -> int:
        """Return the newest step whose replica the peer host holds, as the agent has written."""
        return self._cells[SHIPPED]

    @property
    def regroup(self) -> bool:
        """Return True if all ranks must stop for a new generation with more ranks, as the agent has written."""
        return bool(self._cells[REGROUP])

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Exempt a `with` block from hang detection: saving, loading or evaluating may take longer than a step."""
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
