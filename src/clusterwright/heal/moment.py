"""When something was, on a clock that nobody sets: seconds of one boot of the machine that looks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """Seconds since the boot of that id; the time of day has no part in what is decided."""

    boot: str
    s: float

    def seconds_since(self, earlier: Moment) -> float:
        """Seconds from then to now, or fewer: of a moment before this boot it is known only that it was before it."""
        return max(0.0, self.s - earlier.s) if earlier.boot == self.boot else self.s
