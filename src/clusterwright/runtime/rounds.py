"""At which steps the ranks vote: the same on all of them, and so often that a wish waits a quarter of a second.

What the ranks agreed on is all that is asked here, no clock: a vote in which one of them takes no part never ends.
"""

from __future__ import annotations

# A vote takes 0.1 to 0.2 ms of a rank's time (docs/log.md, 2026-11-22): in a quarter of a second less than 0.1 %.
_HEARD_S = 0.25
# Steps may become long from one to the next, and then so many of them go by until the next vote.
_MOST = 16


class Rounds:
    """Rare where steps are short, at each step where they are not, and rarer only little by little."""

    def __init__(self) -> None:
        self._next, self._apart = 0, 1

    def due(self, step: int) -> bool:
        """Whether the ranks vote while this step is under way."""
        return step >= self._next

    def held(self, step: int, slowest_s: float) -> None:
        """A vote was held in this step; the slowest one since the vote before took so long, 0 before there was one."""
        fits = int(_HEARD_S / slowest_s) if slowest_s else 1
        self._apart = max(1, min(2 * self._apart, fits, _MOST))
        self._next = step + self._apart
