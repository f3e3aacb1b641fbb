"""Sums that never fall, although their parts (processes of a job, cgroups of its steps) come and go."""

from __future__ import annotations

from typing import Any, Dict, Mapping


class Tally:
    """A sum of counters whose ended parts are stored as one number."""

    def __init__(self) -> None:
        self._finished_total = 0.0
        self._parts: Dict[Any, float] = {}

    def total(self, parts: Mapping[Any, float]) -> float:
        """Return a counter that never falls: the sum of the parts' values now, and of the last values of ended parts.

        A part whose value fell has restarted, and counts as an ended and a new one.
        """
        for name, value in self._parts.items():
            if name not in parts or parts[name] < value:
                self._finished_total += value
        self._parts = dict(parts)
        return self._finished_total + sum(parts.values())


class GrownTally:
    """The growth of a host's counters in the time in which one job had the host alone."""

    def __init__(self) -> None:
        self._last: Dict[str, float] = {}
        self.total = 0.0

    def update(self, counters: Mapping[str, float], *, counts: bool) -> None:
        """Store the counters and, if `counts`, add their growth since the last update to `total`.

        `counts` means that the job had the host alone in that time; a counter that fell adds nothing.
        """
        if counts:
            for name, value in counters.items():
                self.total += max(0.0, value - self._last.get(name, value))
        self._last = dict(counters)
