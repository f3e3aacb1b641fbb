"""Read a run's events incrementally: each line once; of long runs only what goodput accounting needs is stored.

The runs folder is writable by users, so its content is untrusted: only regular files are opened, long lines are
skipped in pieces, and memory is bounded.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Deque, Dict, List, Optional

from clusterwright.onhost.lib.safe_reader import parse_object, read_part
from clusterwright.onhost.supervisor.goodput import history
from clusterwright.onhost.supervisor.goodput.timeline import FAULTS, STARTS

Event = Dict[str, Any]
PIECE = 4 << 20  # bytes of one file per read: 20,000 events; the rest comes with the next read
LONGEST = 128 << 10  # bytes of a line; the runtime's have a few hundred, and the names of 1,000 hosts
HEAD, LAST = 20, 60  # steps stored per generation: each has the cumulative time before it (history.py)
MOST = 20_000  # other events of a run that are stored
MOST_BYTES = 64 << 20  # of memory for the events of a run; 20,000 take a third
GENERATIONS = 200  # generations whose steps are stored
KINDS = frozenset(
    [
        *STARTS,
        *FAULTS,
        *history.MOMENTS,
        "failover",
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
    """The stored events of one run; `size_bytes` is the memory that they take."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._places: Dict[str, int] = {}
        self._broken: Dict[str, bool] = {}  # by file: True inside a line that is too long
        self._last_read_time: Dict[str, float] = {}  # by file read by `_thin`: the time of its last event
        self._other_events: Deque[Event] = deque(maxlen=MOST)
        self._head_steps: Dict[int, List[Event]] = {}
        self._last: Dict[int, Deque[Event]] = {}
        self.size_bytes = 0
        self._refused = ""  # the reason

    def read(self) -> bool:
        """Read and store the run's new events from all files; return True if there were any.

        Raises:
            ValueError: the events of the run took too much memory; it is not read again.
        """
        if self._refused:
            raise ValueError(self._refused)
        new = False
        for path in sorted(history.event_files(self._folder), key=_is_long):
            is_new = path not in self._places and _is_long(path)
            new = (self._thin(path) if is_new else self._piece(path)) or new
        return new

    def all(self) -> List[Event]:
        """Return the stored events of the run, sorted by time."""
        steps = [
            event for number in self._head_steps for event in (*self._head_steps[number], *self._last[number])
        ]
        return sorted([*self._other_events, *steps], key=lambda event: float(event["time"]))

    def last_step(self) -> Optional[Event]:
        """Return the run's newest stored step event; None without one."""
        tails = [tail or self._head_steps[number] for number, tail in self._last.items()]
        return max((tail[-1] for tail in tails), key=lambda event: float(event["time"]), default=None)

    def _thin(self, path: str) -> bool:
        """Read a file that is long at its first read only around the times of important events in other files.

        Return True.
        """
        size = os.stat(path).st_size
        moments = sorted(
            {float(event["time"]) for event in self._other_events if event["event"] in history.MOMENTS}
        )
        for event in history.thin(path, moments):
            self._store(event)
            self._last_read_time[path] = max(self._last_read_time.get(path, 0.0), float(event["time"]))
        self._places[path], self._broken[path] = size, True  # the file may end inside a line
        return True

    def _piece(self, path: str) -> bool:
        offset = self._places.get(path, 0)
        data = _read(path, offset, self._folder)
        if not data:
            return False
        complete, newline, partial = data.rpartition(b"\n")
        if not newline:
            if len(partial) >= LONGEST:
                self._places[path], self._broken[path] = offset + len(partial), True
            return False
        self._places[path] = offset + len(complete) + 1
        if self._broken.pop(path, False):
            complete = complete.partition(b"\n")[2]
        for line in complete.split(b"\n"):
            event = parsed(line)
            if event and float(event["time"]) > self._last_read_time.get(path, -1.0):
                self._store(event)
        return True

    def _store(self, event: Event) -> None:
        """Store an event that goodput accounting needs; ignore others.

        Of steps it retains the first HEAD and the last LAST of each generation, and the newest GENERATIONS generations.
        """
        if event["event"] != "step" and event["event"] not in KINDS:
            return
        self.size_bytes += memory_bytes(event)
        if self.size_bytes > MOST_BYTES:
            self._measure()
        if event["event"] != "step":
            self._other_events.append(event)
            return
        number = event["generation"]
        if number not in self._head_steps:
            if len(self._head_steps) >= GENERATIONS:
                oldest = min(self._head_steps)
                del self._head_steps[oldest], self._last[oldest]
            self._head_steps[number], self._last[number] = [], deque(maxlen=LAST)
        into: Any = self._head_steps[number] if len(self._head_steps[number]) < HEAD else self._last[number]
        into.append(event)

    def _measure(self) -> None:
        """Compute the memory of the stored events anew, as old ones were dropped.

        Raises ValueError, and drops all events, if it exceeds MOST_BYTES / 2.
        """
        self.size_bytes = sum(map(memory_bytes, self.all()))
        if self.size_bytes > MOST_BYTES // 2:  # measuring at each event would take quadratic time
            self.refuse()

    def refuse(self, reason: str = "the events take too much memory") -> None:
        """Drop all events of the run and refuse to read more.

        Raises:
            ValueError: always, also from later calls of `read`.
        """
        self._refused, self.size_bytes = reason, 0
        self._other_events.clear()
        self._head_steps.clear()
        self._last.clear()
        raise ValueError(reason)


def memory_bytes(value: Any) -> int:
    """Return an estimate of the bytes of memory that a JSON value takes, which can be twenty times its text."""
    if isinstance(value, dict):
        return 232 + sum(memory_bytes(key) + memory_bytes(item) for key, item in value.items())
    if isinstance(value, list):
        return 56 + sum(8 + memory_bytes(item) for item in value)
    return 49 + len(value) if isinstance(value, str) else 28


def parsed(line: bytes) -> Optional[Event]:
    """Return the event of a line; None for a line longer than LONGEST, or without valid `event` and `time`.

    An event without `generation` gets 0; one with an invalid `generation` is None too.
    """
    if len(line) > LONGEST:
        return None
    event = parse_object(line)
    if not isinstance(event.get("event"), str):
        return None
    if not isinstance(event.get("time"), (int, float)) or not 0 <= event["time"] < 1e11:
        return None
    generation = event.setdefault("generation", 0)
    return event if isinstance(generation, int) else None


def _is_long(path: str) -> bool:
    return os.stat(path).st_size > history.FULL_READ_BYTES


def _read(path: str, offset: int, run: str) -> bytes:
    """Return up to PIECE bytes of a file after `offset`; b"" if it cannot be read or was truncated."""
    try:
        return read_part(path, PIECE, offset, inside=run)
    except OSError:
        return b""
