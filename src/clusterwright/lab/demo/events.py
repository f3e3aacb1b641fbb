"""Parse a run's event files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DemoEvent:
    """One line of an event file; `more` has the keys of its kind."""

    time: float
    kind: str
    host: str
    generation: int
    rank: int | None
    more: Mapping[str, Any]

    @property
    def step(self) -> int:
        """Return the event's number of complete optimizer steps; -1 for a kind without steps."""
        return int(self.more.get("step", -1))


def parse_events(texts: Iterable[str]) -> tuple[tuple[DemoEvent, ...], int]:
    """Return all events of these texts in order of time, and the number of torn lines.

    A host killed while writing leaves half a line, which is counted and skipped.
    """
    events: list[DemoEvent] = []
    torn = 0
    for line in (line for text in texts for line in text.splitlines() if line.strip()):
        event = _event(line)
        if event is None:
            torn += 1
        else:
            events.append(event)
    return tuple(sorted(events, key=lambda event: event.time)), torn


def _event(line: str) -> DemoEvent | None:
    try:
        row = json.loads(line)
        rank = row.pop("rank", None)
        return DemoEvent(
            time=float(row.pop("time")),
            kind=str(row.pop("event")),
            host=str(row.pop("host", "")),
            generation=int(row.pop("generation", 0) or 0),
            rank=None if rank is None else int(rank),
            more=row,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
