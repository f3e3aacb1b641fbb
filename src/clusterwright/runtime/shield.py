"""A loader's workers outlive the signal that asks for a last save.

Slurm signals all processes of a step. A worker that dies of it takes its rank along, before anything is saved. So the
workers do not hear it, unless it comes from their own rank, as when a loader that has ended clears up.
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
    """An iterator over the batches; the workers of a DataLoader are started deaf."""
    if not isinstance(batches, DataLoader) or batches.num_workers == 0:
        return iter(batches)
    if not isinstance(batches.worker_init_fn, _SignalShield):
        batches.worker_init_fn = _SignalShield(batches.worker_init_fn)
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)  # they inherit it
    try:
        return iter(batches)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


class _SignalShield:
    """What a worker does first: hear its own rank, and then what the script wanted it to do."""

    def __init__(self, then: Callable[[int], Any] | None) -> None:
        self._then = then

    def __call__(self, worker: int) -> None:
        threading.Thread(target=_wait_for_rank_signal, name="hear-the-rank", daemon=True).start()
        if self._then:
            self._then(worker)


def _wait_for_rank_signal() -> None:
    while signal.sigwaitinfo(STOP_SIGNALS).si_pid != os.getppid():
        pass
    os._exit(0)
