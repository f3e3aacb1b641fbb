"""The supervisor's second sign of life: a counter in the run's folder, which also says who supervises, and where."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Tuple

NAME = "pulse"
AHEAD = 1  # the counter is written before it is sent: a supervisor may die between the two


class Beat(NamedTuple):
    """One beat: of which supervisor of the chain, and how many it has had."""

    number: int = 0
    beats: int = 0

    @classmethod
    def of(cls, document: Dict[str, Any]) -> Beat:
        """The beat that the folder shows; the first of all for none."""
        return cls(int(document.get("number", 0)), int(document.get("beats", 0)))


def place(document: Dict[str, Any]) -> Tuple[str, int]:
    """Where that supervisor listens."""
    return str(document.get("address", "")), int(document.get("port", 0))


class Pulse:
    """How long it has stood still, as one agent sees it; `since` is monotonic."""

    def __init__(self, seen: Beat, since: float) -> None:
        self.seen, self.since = seen, since

    def still_s(self, beat: Beat, now: float) -> float:
        """For how long nothing newer than `beat` has come; what is older than what we know is not looked at."""
        if beat.number > self.seen.number or beat > Beat(self.seen.number, self.seen.beats + AHEAD):
            self.seen, self.since = beat, now
        return now - self.since
