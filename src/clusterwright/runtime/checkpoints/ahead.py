"""Memory for coming saves, allocated in the background.

New memory costs ten times as much as the copy into it, and the first save would stall for all of it.
So a thread at low priority touches its pages one by one, with pauses; a save that comes earlier touches the rest by
its copy. On a GPU the memory is pinned at the end.
The last tenth of the host's memory is not allocated ahead. Limits of a control group are not checked: what does
not fit into them does not fit at the first save either.
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

_WIPE_ON_FORK = 18  # madvise(2); Python has no constant for it
_PAGE = 4096
_SLICE = (
    1 << 22
)  # bytes; small enough for torch to touch their pages in one thread, and for a save to wait for
_PAUSE = 3  # times a slice's CPU time: uses at most a quarter of one core
_NICE = 10  # as the saver thread; at 19 it would get a hundredth of a core when all cores train
_SPARED = 0.1  # of the host's memory


class Ahead:
    """A block of `length` bytes whose pages a thread allocates."""

    def __init__(self, length: int, device: torch.device) -> None:
        self.bytes = length
        self._memory, self._device = _pages(length), device
        self._stopped, self._pinned = threading.Event(), False
        self._thread = threading.Thread(target=self._make, name="ahead", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Return True while the thread still allocates the memory's pages."""
        return self._thread.is_alive()

    def claim(self) -> torch.Tensor:
        """Stop the allocating thread and return the memory, pinned on a GPU, for the caller to write to."""
        self._stop()
        if not self._pinned:
            self._pin()
        return self._memory

    def drop(self) -> None:
        """Stop the thread that allocates staging memory, and unpin what it has allocated."""
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
    """Return `length` bytes as a uint8 tensor, in huge pages where the kernel has them: 500 times fewer page faults.

    Forked processes, such as data loader workers, see it empty (MADV_WIPEONFORK); otherwise the next save after a
    fork would copy every page.
    """
    pages = mmap.mmap(-1, max(1, length), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for advice in (mmap.MADV_HUGEPAGE, _WIPE_ON_FORK):
        with contextlib.suppress(OSError):  # an older kernel
            pages.madvise(advice)
    return torch.frombuffer(pages, dtype=torch.uint8)[:length]


def _scarce() -> bool:
    """Return True if less than a tenth of the host's memory is available."""
    rows = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    total, available = (int(rows[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    return available < _SPARED * total
