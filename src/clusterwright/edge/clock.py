"""The clock, passed as an argument so that tests can replace it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The interface of SystemClock, and of FakeClock in tests."""

    def now(self) -> float:
        """Return the seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return the seconds of a clock that never goes back, from an arbitrary start."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait for that many seconds."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return the seconds of the machine's monotonic clock, from an arbitrary start."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait for that many seconds."""
        time.sleep(seconds)
