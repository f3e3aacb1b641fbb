"""Sums that never fall, of parts that come and go: processes of a job, its steps' groups."""

from __future__ import annotations

from typing import Any, Dict, Mapping


class Tally:
    """What is gone is remembered as one number."""

    def __init__(self) -> None:
        self._finished_total = 0.0
        self._parts: Dict[Any, float] = {}

    def total(self, parts: Mapping[Any, float]) -> float:
        """With what the parts say now; one that falls has begun anew."""
        for name, value in self._parts.items():
            if name not in parts or parts[name] < value:
                self._finished_total += value
        self._parts = dict(parts)
        return self._finished_total + sum(parts.values())


class Grown:
    """How much a counter of the whole host has grown while it was somebody's alone."""

    def __init__(self) -> None:
        self._last: Dict[str, float] = {}
        self.total = 0.0

    def update(self, counters: Mapping[str, float], *, counts: bool) -> None:
        """`counts` is False where the time since the last look was not his alone."""
        if counts:
            for name, value in counters.items():
                self.total += max(0.0, value - self._last.get(name, value))
        self._last = dict(counters)
