"""Data loader workers that survive the signal for a last save.

Slurm signals all processes of a step. A worker that dies of the signal ends its rank before it can save. So workers
ignore it unless their own rank sends it, as a finished loader does to clean up.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from torch.utils.data import DataLoader

from clusterwright.runtime.stop import STOP_SIGNALS

T = TypeVar("T")


def iterate(batches: Iterable[T]) -> Iterator[T]:
    """Return an iterator over the batches; the workers of a DataLoader start with stop signals blocked.

    Its `worker_init_fn` is replaced by one that also runs the original.
    """
    if not isinstance(batches, DataLoader) or batches.num_workers == 0:
        return iter(batches)
    if not isinstance(batches.worker_init_fn, _SignalShield):
        batches.worker_init_fn = _SignalShield(batches.worker_init_fn)
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)  # workers inherit the mask
    try:
        return iter(batches)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


class _SignalShield:
    """A worker_init_fn that waits for the rank's signal in a thread, then runs the script's own worker_init_fn."""

    def __init__(self, then: Callable[[int], Any] | None) -> None:
        self._then = then

    def __call__(self, worker: int) -> None:
        threading.Thread(target=_wait_for_rank_signal, name="rank-signal", daemon=True).start()
        if self._then:
            self._then(worker)


def _wait_for_rank_signal() -> None:
    while signal.sigwaitinfo(STOP_SIGNALS).si_pid != os.getppid():
        pass
    os._exit(0)
