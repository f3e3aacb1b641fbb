"""The heartbeat file in the run's folder: a counter, and the supervisor's number, host and address."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Tuple

NAME = "pulse"
AHEAD = 1  # the counter is written before it is sent; a supervisor may die in between


class Beat(NamedTuple):
    """One heartbeat: the supervisor's number in the chain, and its counter."""

    number: int = 0
    beats: int = 0

    @classmethod
    def from_document(cls, document: Dict[str, Any]) -> Beat:
        """Return the heartbeat in the content of the heartbeat file; number and counter 0 for an empty one."""
        return cls(int(document.get("number", 0)), int(document.get("beats", 0)))


def listen_address(document: Dict[str, Any]) -> Tuple[str, int]:
    """Return the supervisor's address and port from the content of the heartbeat file; "" and 0 for an empty one."""
    return str(document.get("address", "")), int(document.get("port", 0))


class Heartbeat:
    """Measures how long the heartbeat has stood still, as one agent sees it; `last_beat_at` is monotonic."""

    def __init__(self, last_beat: Beat, last_beat_at: float) -> None:
        self.last_beat, self.last_beat_at = last_beat, last_beat_at

    def stalled_s(self, beat: Beat, now: float) -> float:
        """Record a `beat` if it is newer than the last one, and return the seconds since the last new one."""
        if beat.number > self.last_beat.number or beat > Beat(
            self.last_beat.number, self.last_beat.beats + AHEAD
        ):
            self.last_beat, self.last_beat_at = beat, now
        return now - self.last_beat_at
