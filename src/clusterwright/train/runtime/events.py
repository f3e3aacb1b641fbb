"""What happens in a run, as JSON lines: one object and one write each, so that no reader sees half."""

from __future__ import annotations

import json
import math
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any


class Events:
    """One rank's file of events; without a folder nothing is written.

    A write that fails is said once and never ends the training. A float `loss` comes with `loss_hex`, which
    is exact.
    """

    def __init__(self, run: Path | None, rank: int, generation: int) -> None:
        self._common = {"host": socket.gethostname(), "generation": generation, "rank": rank}
        self._file = -1
        self._torn = False
        if run:
            folder = run / "events"
            folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
            self._file = os.open(folder / f"rank-{rank:05d}.jsonl", flags, 0o644)

    def write(self, event: str, **more: Any) -> None:
        """Append one event."""
        if self._file < 0:
            return
        line = {"time": time.time(), "event": event, **self._common, **more}
        if isinstance(loss := line.get("loss"), float):
            line["loss_hex"] = loss.hex()
            line["loss"] = loss if math.isfinite(loss) else None  # JSON knows no NaN
        self._append(json.dumps(line, allow_nan=False).encode() + b"\n")

    def _append(self, data: bytes) -> None:
        if self._torn:  # a full disk took half of the last line: end it, so that this one can be read
            data = b"\n" + data
        try:
            written = os.write(self._file, data)
        except OSError as error:
            written = 0
            if not self._torn:
                say(f"events are lost: {error}")
        self._torn = written < len(data)


def say(text: str) -> None:
    """A line for people, which the launcher keeps with the rank's log."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def process_started() -> float:
    """When this process was created, in seconds since the epoch (proc(5): field 22 of stat, since the boot)."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age
