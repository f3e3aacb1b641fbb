"""What happens in a run, as JSON lines: whole lines in one write, so that no reader sees half."""

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

# A line alone takes a step 0.08 ms, most of it to fetch code that nothing else uses (docs/log.md, 2026-11-22).
_LATE_S = 0.25
_JSON = json.JSONEncoder(allow_nan=False).encode  # made once: json.dumps would make one for each line


class Events:
    """One rank's file of events; without a folder nothing is written.

    A write that fails is said once and never ends the training. A float `loss` comes with `loss_hex`, which
    is exact.
    """

    def __init__(self, run: Path | None, rank: int, generation: int) -> None:
        self._rank = rank
        self._common = {"host": socket.gethostname(), "generation": generation, "rank": rank}
        self._file = -1
        self._torn = False
        self._waiting: list[dict[str, Any]] = []
        self._lock = threading.Lock()  # saves say in a thread that they are complete
        self._wrote = float("-inf")
        self._pid = os.getpid()
        if run:
            folder = run / "events"
            folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
            self._file = os.open(folder / f"rank-{rank:05d}.jsonl", flags, 0o644)
            atexit.register(self.flush)

    def write(self, event: str, **more: Any) -> None:
        """Append one event, and what waits."""
        self._note(event, more)
        self.flush()

    def soon(self, event: str, **more: Any) -> None:
        """Append one event with the next one that comes a quarter of a second later, or is written at once.

        A rank that is killed takes along what waits: steps that are done again, as `flush` comes before their state
        is kept anywhere.
        """
        self._note(event, more)
        if time.monotonic() - self._wrote >= _LATE_S:
            self.flush()

    def flush(self) -> None:
        """Nothing waits any more."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            if waiting:
                self._append(b"".join(map(_line, waiting)))
                self._wrote = time.monotonic()

    def record(self, event: str, **more: Any) -> None:
        """Append an event that concerns all ranks: rank 0 writes it."""
        if self._rank == 0:
            self.write(event, **more)

    def log_line(self, text: str) -> None:
        """A line for people about all ranks: rank 0 says it."""
        if self._rank == 0:
            log_line(text)

    def _note(self, event: str, more: dict[str, Any]) -> None:
        # A loader's worker, forked from us: what waits is ours to write, not its.
        if os.getpid() != self._pid:
            self._pid, self._waiting, self._lock = os.getpid(), [], threading.Lock()
        if self._file >= 0:
            line = {"time": time.time(), "event": event, **self._common, **more}
            with self._lock:
                self._waiting.append(line)

    def _append(self, data: bytes) -> None:
        if self._torn:  # a full disk took half of the last line: end it, so that this one can be read
            data = b"\n" + data
        try:
            written = os.write(self._file, data)
        except OSError as error:
            written = 0
            if not self._torn:
                log_line(f"events are lost: {error}")
        self._torn = written < len(data)


def _line(event: dict[str, Any]) -> bytes:
    """An event as JSON, which knows no NaN."""
    if isinstance(loss := event.get("loss"), float):
        event = {**event, "loss": loss if math.isfinite(loss) else None, "loss_hex": loss.hex()}
    return _JSON(event).encode() + b"\n"


def log_line(text: str) -> None:
    """A line for people, which the launcher keeps with the rank's log; a full disk loses it, and ends nothing.

    Past Python's buffer, where a line that did not fit would fail again at the end, and change the exit code.
    """
    with contextlib.suppress(OSError):
        sys.stderr.flush()
        os.write(2, f"{text}\n".encode(errors="replace"))


def process_started() -> float:
    """When this process was created, in seconds since the epoch (proc(5): field 22 of stat, since the boot)."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age
