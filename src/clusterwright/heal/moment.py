"""Timestamps of the boot-time clock of the machine that runs heal; changes of the wall clock do not affect them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """Seconds since a boot, with the id of that boot; decisions never use the time of day."""

    boot: str
    s: float

    def seconds_since(self, earlier: Moment) -> float:
        """Return the seconds since `earlier`; since this boot, a lower bound, if `earlier` is of another boot."""
        return max(0.0, self.s - earlier.s) if earlier.boot == self.boot else self.s
