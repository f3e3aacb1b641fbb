"""A run's events as they come: each line is read once, and of a long run only what its ledger needs is kept.

Whoever may write into the folder of runs may write anything there: what is no plain file is not opened, a line of any
length is passed over in pieces, and memory has a bound.
"""

from __future__ import annotations

import json
import os
from collections import deque
from typing import Any, Deque, Dict, List, Optional

from clusterwright.onhost.lib.safe_reader import read_part
from clusterwright.onhost.supervisor.ledger import history
from clusterwright.onhost.supervisor.ledger.timeline import FAULTS, STARTS

Event = Dict[str, Any]
PIECE = 4 << 20  # bytes of one file in one look: 20,000 events; the rest comes with the next
LONGEST = 1 << 20  # bytes of a line; those of the runtime have some hundred
FIRST, LAST = 20, 60  # steps of each generation: a step says what all before it took (history.py)
MOST = 20_000  # other events of a run, 10 MB
GENERATIONS = 200  # whose steps are kept
KINDS = frozenset(
    [
        *STARTS,
        *FAULTS,
        *history.MOMENTS,
        "takeover",
        "host_ready",
        "standby",
        "plan",
        "readers",
        "communication",
        "copies_refused",
        "checkpoint",
        "checkpoint_staged",
        "straggler",
        "stopped",
        "finished",
    ]
)


class RunEvents:
    """Those of one run so far."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._places: Dict[str, int] = {}
        self._broken: Dict[str, bool] = {}  # inside a line that is too long
        self._seen: Dict[str, float] = {}  # of a file whose middle was not read: the time up to which it was
        self._others: Deque[Event] = deque(maxlen=MOST)
        self._first: Dict[int, List[Event]] = {}
        self._last: Dict[int, Deque[Event]] = {}

    def read(self) -> bool:
        """True where there was something new."""
        new = False
        for path in sorted(history.event_files(self._folder), key=_is_long):
            first = path not in self._places and _is_long(path)
            new = (self._thin(path) if first else self._piece(path)) or new
        return new

    def all(self) -> List[Event]:
        """What is kept, by time."""
        steps = [event for number in self._first for event in (*self._first[number], *self._last[number])]
        return sorted([*self._others, *steps], key=lambda event: float(event["time"]))

    def last_step(self) -> Optional[Event]:
        """The newest of all."""
        tails = [tail or self._first[number] for number, tail in self._last.items()]
        return max((tail[-1] for tail in tails), key=lambda event: float(event["time"]), default=None)

    def _thin(self, path: str) -> bool:
        """The first look at a file that is long already: around the moments that other files tell of."""
        size = os.stat(path).st_size
        moments = sorted(
            {float(event["time"]) for event in self._others if event["event"] in history.MOMENTS}
        )
        for event in history.thin(path, moments):
            self._take(event)
            self._seen[path] = max(self._seen.get(path, 0.0), float(event["time"]))
        self._places[path], self._broken[path] = size, True  # it may end inside a line
        return True

    def _piece(self, path: str) -> bool:
        place = self._places.get(path, 0)
        data = _read(path, place, self._folder)
        if not data:
            return False
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            if len(rest) >= LONGEST:
                self._places[path], self._broken[path] = place + len(rest), True
            return False
        self._places[path] = place + len(whole) + 1
        if self._broken.pop(path, False):
            whole = whole.partition(b"\n")[2]
        for line in whole.split(b"\n"):
            event = parsed(line)
            if event and float(event["time"]) > self._seen.get(path, -1.0):
                self._take(event)
        return True

    def _take(self, event: Event) -> None:
        if event["event"] != "step":
            if event["event"] in KINDS:
                self._others.append(event)
            return
        number = event["generation"]
        if number not in self._first:
            if len(self._first) >= GENERATIONS:
                oldest = min(self._first)
                del self._first[oldest], self._last[oldest]
            self._first[number], self._last[number] = [], deque(maxlen=LAST)
        into: Any = self._first[number] if len(self._first[number]) < FIRST else self._last[number]
        into.append(event)


def parsed(line: bytes) -> Optional[Event]:
    """An event whose numbers are numbers; None for a line that is cut, or that a stranger wrote otherwise."""
    if len(line) > LONGEST:
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return None
    if not isinstance(event.get("time"), (int, float)) or not 0 <= event["time"] < 1e11:
        return None
    generation = event.setdefault("generation", 0)
    return event if isinstance(generation, int) else None


def _is_long(path: str) -> bool:
    return os.stat(path).st_size > history.WHOLE


def _read(path: str, place: int, run: str) -> bytes:
    """The next piece; nothing of a file that cannot be read, or was cut meanwhile."""
    try:
        return read_part(path, PIECE, place, inside=run)
    except OSError:
        return b""
