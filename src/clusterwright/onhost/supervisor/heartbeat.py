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
    def from_document(cls, document: Dict[str, Any]) -> Beat:
        """The beat that the folder shows; the first of all for none."""
        return cls(int(document.get("number", 0)), int(document.get("beats", 0)))


def listen_address(document: Dict[str, Any]) -> Tuple[str, int]:
    """Where that supervisor listens."""
    return str(document.get("address", "")), int(document.get("port", 0))


class Heartbeat:
    """How long it has stood still, as one agent sees it; `last_beat_at` is monotonic."""

    def __init__(self, last_beat: Beat, last_beat_at: float) -> None:
        self.last_beat, self.last_beat_at = last_beat, last_beat_at

    def stalled_s(self, beat: Beat, now: float) -> float:
        """For how long nothing newer than `beat` has come; what is older than what we know is not looked at."""
        if beat.number > self.last_beat.number or beat > Beat(
            self.last_beat.number, self.last_beat.beats + AHEAD
        ):
            self.last_beat, self.last_beat_at = beat, now
        return now - self.last_beat_at
