"""How often the state is copied into memory: `auto`, `steps:N` or `never`."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

VARIABLE = "CLUSTERWRIGHT_COPY_EVERY"
# of the time, for what training waits for: of a copy as it costs when nothing disturbs it, and of all copies together
BUDGET, MOST = 0.0025, 0.005
RECENT = 8  # copies, of which the cheapest says what one costs when nothing disturbs it


@dataclass
class Rhythm:
    """With `steps` at each N steps; without, as often as the budget allows, as the clock of rank 0 sees it.

    A copy that took long because the machine was busy makes the next ones no rarer than all of them together must be.
    """

    steps: int | None
    _next: float = field(default=0.0)
    _begun: float | None = field(default=None)
    _spent: float = field(default=0.0)
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    @staticmethod
    def parse(text: str) -> Rhythm | None:
        """From the launcher's word; None for never."""
        if text == "never":
            return None
        match = re.fullmatch(r"steps:(\d{1,9})", text)
        if text != "auto" and not (match and int(match[1])):
            raise ValueError(f"copies in memory `{text}`: write auto, steps:1 or never")
        return Rhythm(int(match[1]) if match else None)

    def overdue(self, now: float) -> bool:
        """Whether this rank's clock asks for a copy."""
        return self.steps is None and now >= self._next

    def due(self, step: int) -> bool:
        """Whether this step asks for a copy."""
        return self.steps is not None and step % self.steps == 0

    def made(self, now: float, seconds: float) -> None:
        """A copy has cost so much: until the next one that becomes a small part of the time."""
        self._begun = now - seconds if self._begun is None else self._begun
        self._spent += seconds
        self._recent.append(seconds)
        self._next = max(now + min(self._recent) / BUDGET, self._begun + self._spent / MOST)
