"""What a training of the bench says of itself, how it pauses, and how it dies: the same for all launchers.

Importing it first is the first mark: the script runs.

BENCH_FOLDER is where `marks.jsonl` grows, one line and one write for each mark. A file `armed` in it,
`{"rank": 1, "share": 0.4, "do": "SIGKILL"}`, makes that happen to this rank in its next pause, after this share of it.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import faults

FOLDER = Path(os.environ["BENCH_FOLDER"])
HOST = os.uname().nodename  # process ids are a host's own
STEP_S = float(
    os.environ.get("BENCH_STEP_S", "0.05")
)  # what a step waits beside its few milliseconds of work
EVERY = int(os.environ.get("BENCH_EVERY", "5"))  # steps between checkpoints
TIMEOUT_S = float(os.environ.get("BENCH_TIMEOUT_S", "1800"))  # of a collective; torch's own default
UNTIL = int(os.environ.get("BENCH_UNTIL", "1000000"))
WIDTH = int(os.environ.get("BENCH_WIDTH", "256"))
_ARMED = FOLDER / "armed"
_file = os.open(FOLDER / "marks.jsonl", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)


def mark(kind: str, **more: Any) -> None:
    """This happened now, in this process."""
    line = {"time": time.time(), "kind": kind, "host": HOST, "pid": os.getpid(), **more}
    os.write(_file, json.dumps(line).encode() + b"\n")


def pause(rank: int) -> None:
    """The step's waiting; a rank that is told to die or to hang does so within it."""
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
    """The script runs; `started` is when its process was created (proc(5): field 22 of stat)."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    mark("script", started=time.time() - age)


_began()
