"""One picture for all who look: asked for anew only when it is some seconds old, as every asking costs slurmctld."""

from __future__ import annotations

import threading
from collections.abc import Callable

from clusterwright.edge.clock import Clock
from clusterwright.errors import WrightError
from clusterwright.monitor.snapshot import Snapshot

EVERY_S = 5.0  # Slurm's own advice is to poll no quicker


class SnapshotCache:
    """The newest picture, and why there is no newer one."""

    def __init__(self, gather: Callable[[], Snapshot], clock: Clock, every_s: float = EVERY_S) -> None:
        self._gather, self._clock, self._every_s = gather, clock, max(EVERY_S, every_s)
        self._lock = threading.Lock()
        self._polled_at = float("-inf")
        self.snapshot: Snapshot | None = None
        self.trouble: WrightError | None = None

    def newest(self) -> Snapshot | None:
        """The picture; of several who ask at once, one gathers, and the others get what it brings."""
        with self._lock:
            if self._clock.monotonic() - self._polled_at >= self._every_s:
                try:
                    self.snapshot, self.trouble = self._gather(), None
                except WrightError as error:
                    self.trouble = error
                self._polled_at = self._clock.monotonic()
            return self.snapshot
