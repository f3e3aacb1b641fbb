"""Marks, pauses and faults of the bench's trainings, the same for all launchers.

Import it first: the import writes the first mark, that the script has started.

Marks are appended to `marks.jsonl` in BENCH_FOLDER, one line and one write each. A file `armed` there, such as
`{"rank": 1, "share": 0.4, "do": "SIGKILL"}`, causes this fault in the rank's next pause, after this share of it.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import faults

FOLDER = Path(os.environ["BENCH_FOLDER"])
HOST = os.uname().nodename  # pids are unique only per host
STEP_S = float(
    os.environ.get("BENCH_STEP_S", "0.05")
)  # sleep of a step, besides its few milliseconds of work
EVERY = int(os.environ.get("BENCH_EVERY", "5"))  # steps between checkpoints
TIMEOUT_S = float(os.environ.get("BENCH_TIMEOUT_S", "1800"))  # of a collective; torch's default
UNTIL = int(os.environ.get("BENCH_UNTIL", "1000000"))
WIDTH = int(os.environ.get("BENCH_WIDTH", "256"))
_ARMED = FOLDER / "armed"
_file = os.open(FOLDER / "marks.jsonl", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)


def mark(kind: str, **more: Any) -> None:
    """Append a mark with the current time and this process."""
    line = {"time": time.time(), "kind": kind, "host": HOST, "pid": os.getpid(), **more}
    os.write(_file, json.dumps(line).encode() + b"\n")


def pause(rank: int) -> None:
    """Sleep for the step; a fault for this rank happens within it."""
    begun = time.monotonic()
    if _ARMED.exists():
        order = json.loads(_ARMED.read_text())
        if order["rank"] == rank:
            time.sleep(STEP_S * order["share"])
            _ARMED.rename(FOLDER / "struck")  # once
            mark("fault", rank=rank)
            faults.happen(order.get("do", "SIGKILL"))
    faults.disturb(rank)
    time.sleep(max(0.0, STEP_S - (time.monotonic() - begun)))


def _began() -> None:
    """Mark the start of the script, with the process's start time (proc(5): field 22 of stat)."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    mark("script", started=time.time() - age)


_began()
