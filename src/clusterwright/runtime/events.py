"""A run's events as JSON lines, each batch in one write so that readers see whole lines."""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

# A single write costs a step 0.08 ms, most of it cache misses on code (docs/log.md, 2026-11-22).
_LATE_S = 0.25
_JSON = json.JSONEncoder(allow_nan=False).encode  # json.dumps would create one for each line


class Events:
    """One rank's event file in the folder `run`; without a folder nothing is written.

    A failed write is logged once and never ends the training. A float `loss` also gets `loss_hex`, its exact
    value.
    """

    def __init__(self, run: Path | None, rank: int, generation: int) -> None:
        self._rank = rank
        self._common = {"host": socket.gethostname(), "generation": generation, "rank": rank}
        self._file = -1
        self._torn = False
        self._waiting: list[dict[str, Any]] = []
        self._lock = threading.Lock()  # saves write events from a thread
        self._wrote = float("-inf")
        self._pid = os.getpid()
        if run:
            folder = run / "events"
            folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
            self._file = os.open(folder / f"rank-{rank:05d}.jsonl", flags, 0o644)
            atexit.register(self.flush)

    def write(self, event: str, **more: Any) -> None:
        """Append an event and all buffered ones to this rank's event file; do nothing without a run folder."""
        self._note(event, more)
        self.flush()

    def soon(self, event: str, **more: Any) -> None:
        """Buffer an event; the buffer is written with each `write`, and by the first event after 0.25 s.

        A killed rank loses its buffer. Those steps are repeated anyway, as `flush` comes before any save of their
        state.
        """
        self._note(event, more)
        if time.monotonic() - self._wrote >= _LATE_S:
            self.flush()

    def flush(self) -> None:
        """Write all buffered events to this rank's event file."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            if waiting:
                self._append(b"".join(map(_line, waiting)))
                self._wrote = time.monotonic()

    def record(self, event: str, **more: Any) -> None:
        """Append an event that concerns all ranks, on rank 0; other ranks write nothing."""
        if self._rank == 0:
            self.write(event, **more)

    def log_line(self, text: str) -> None:
        """Log a line that concerns all ranks: rank 0 writes it, other ranks nothing."""
        if self._rank == 0:
            log_line(text)

    def _note(self, event: str, more: dict[str, Any]) -> None:
        # In a forked data loader worker: the buffer belongs to the parent.
        if os.getpid() != self._pid:
            self._pid, self._waiting, self._lock = os.getpid(), [], threading.Lock()
        if self._file >= 0:
            line = {"time": time.time(), "event": event, **self._common, **more}
            with self._lock:
                self._waiting.append(line)

    def _append(self, data: bytes) -> None:
        if self._torn:  # a full disk cut the last line: end it, so that this one can be parsed
            data = b"\n" + data
        try:
            written = os.write(self._file, data)
        except OSError as error:
            written = 0
            if not self._torn:
                log_line(f"cannot write events: {error}")
        self._torn = written < len(data)


def _line(event: dict[str, Any]) -> bytes:
    """Return an event as a line of JSON; a float `loss` also exactly as `loss_hex`, and as null if it is not finite."""
    if isinstance(loss := event.get("loss"), float):
        event = {**event, "loss": loss if math.isfinite(loss) else None, "loss_hex": loss.hex()}
    return _JSON(event).encode() + b"\n"


def log_line(text: str) -> None:
    """Write a line to stderr, which the launcher stores in the rank's log; errors, such as a full disk, are ignored.

    Bypasses Python's buffer: a failed line there would fail again at exit and change the exit code.
    """
    with contextlib.suppress(OSError):
        sys.stderr.flush()
        os.write(2, f"{text}\n".encode(errors="replace"))


def process_started() -> float:
    """Return when this process started, in seconds since the epoch (proc(5): field 22 of stat, ticks since boot)."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age
