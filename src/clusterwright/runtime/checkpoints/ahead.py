"""Memory for the saves to come, made behind the training.

Memory that is new costs ten times as much as the copy into it, and all of that would be the first save's stall.
So a thread touches its pages one after the other, with pauses, and after the training's own; a save that comes before
it is through does the rest by its copy. On a GPU the memory is pinned at last.
The last tenth of the machine's memory is not taken ahead. Limits of a control group are not looked at: what does not
fit into them will not at the first save either.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
import time
from pathlib import Path

import torch

from clusterwright.runtime.checkpoints import pinned

_WIPE_ON_FORK = 18  # madvise(2); Python has no name for it
_PAGE = 4096
_SLICE = 1 << 22  # bytes; few enough for torch to touch their pages in one thread, and for a save to wait for
_PAUSE = 3  # times what a slice took: at most a quarter of one core is used
_NICE = 10  # as what is behind a save; at 19 it would get nothing where all cores train, a hundredth of one
_SPARED = 0.1  # of the machine's memory


class Ahead:
    """So many bytes, of which more and more are in place."""

    def __init__(self, length: int, device: torch.device) -> None:
        self.bytes = length
        self._memory, self._device = _pages(length), device
        self._stopped, self._pinned = threading.Event(), False
        self._thread = threading.Thread(target=self._make, name="ahead", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether there is still more to come."""
        return self._thread.is_alive()

    def claim(self) -> torch.Tensor:
        """The memory, from now on the caller's to write to."""
        self._stop()
        if not self._pinned:
            self._pin()
        return self._memory

    def drop(self) -> None:
        """It is not used any more."""
        self._stop()
        if self._pinned:
            pinned.forget(self._memory, self._device)

    def _stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _make(self) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        for piece in torch.split(self._memory, _SLICE):
            if self._stopped.is_set() or _scarce():
                return
            begun = time.thread_time()
            piece[::_PAGE].zero_()
            self._stopped.wait(_PAUSE * (time.thread_time() - begun))
        self._pin()

    def _pin(self) -> None:
        pinned.register(self._memory, self._device)
        self._pinned = True


def _pages(length: int) -> torch.Tensor:
    """Memory in huge pages where the system has them, which is touched five hundred times less often to be had.

    The processes that a rank forks, as data workers are, see it empty; else each fork would have every page of it
    copied at the next save.
    """
    pages = mmap.mmap(-1, max(1, length), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for advice in (mmap.MADV_HUGEPAGE, _WIPE_ON_FORK):
        with contextlib.suppress(OSError):  # a system that does not know it
            pages.madvise(advice)
    return torch.frombuffer(pages, dtype=torch.uint8)[:length]


def _scarce() -> bool:
    """Whether no more than what is to be spared is left."""
    rows = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    total, available = (int(rows[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    return available < _SPARED * total
