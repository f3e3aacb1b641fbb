"""One snapshot for all viewers, refreshed at most every few seconds, since each query loads slurmctld."""

from __future__ import annotations

import threading
from collections.abc import Callable

from clusterwright.edge.clock import Clock
from clusterwright.errors import WrightError
from clusterwright.monitor.snapshot import Snapshot

EVERY_S = 5.0  # Slurm's documentation advises not to poll more often


class SnapshotCache:
    """The newest snapshot for all callers, and the error of the last refresh in `trouble`."""

    def __init__(self, gather: Callable[[], Snapshot], clock: Clock, every_s: float = EVERY_S) -> None:
        self._gather, self._clock, self._every_s = gather, clock, max(EVERY_S, every_s)
        self._lock = threading.Lock()
        self._polled_at = float("-inf")
        self.snapshot: Snapshot | None = None
        self.trouble: WrightError | None = None

    def newest(self) -> Snapshot | None:
        """Return the snapshot, refreshed if it is older than `every_s`; concurrent callers share one refresh.

        If a refresh fails, the error is stored in `trouble` until the next one, and the last snapshot is returned; None
        before the first success.
        """
        with self._lock:
            if self._clock.monotonic() - self._polled_at >= self._every_s:
                try:
                    self.snapshot, self.trouble = self._gather(), None
                except WrightError as error:
                    self.trouble = error
                self._polled_at = self._clock.monotonic()
            return self.snapshot
