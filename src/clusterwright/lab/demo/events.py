"""What a run wrote about itself, read back from its event files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One line of an event file; `more` is what belongs to its kind."""

    time: float
    kind: str
    host: str
    generation: int
    rank: int | None
    more: Mapping[str, Any]

    @property
    def step(self) -> int:
        """Optimiser steps that are complete; -1 for a kind without steps."""
        return int(self.more.get("step", -1))


def parse_events(texts: Iterable[str]) -> tuple[tuple[Event, ...], int]:
    """All events in the order of their time, and how many lines were torn.

    A host that is killed while it writes leaves half a line; that line is counted and left out.
    """
    events: list[Event] = []
    torn = 0
    for line in (line for text in texts for line in text.splitlines() if line.strip()):
        event = _event(line)
        if event is None:
            torn += 1
        else:
            events.append(event)
    return tuple(sorted(events, key=lambda event: event.time)), torn


def _event(line: str) -> Event | None:
    try:
        row = json.loads(line)
        rank = row.pop("rank", None)
        return Event(
            time=float(row.pop("time")),
            kind=str(row.pop("event")),
            host=str(row.pop("host", "")),
            generation=int(row.pop("generation", 0) or 0),
            rank=None if rank is None else int(rank),
            more=row,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
