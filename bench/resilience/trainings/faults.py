"""Faults and disturbances in a rank of the bench's training: death, several kinds of hangs, pauses.

BENCH_DISTURB, such as `[[3000, -1, "pause", 20], [5000, 0, "work", 5]]`, makes all ranks pause for 20 s in step 3,000
and rank 0 compute for 5 s in step 5,000.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time

DISTURB = {each[0]: each[1:] for each in json.loads(os.environ.get("BENCH_DISTURB", "[]"))}
_steps = [0]


def happen(what: str) -> None:
    """Cause the named fault in this rank."""
    {"SIGKILL": _signal, "SIGSTOP": _signal, "sleep": _sleep, "spin": _spin, "spin in C": _spin_in_c}[what](
        what
    )


def disturb(rank: int) -> bool:
    """Pause or compute if BENCH_DISTURB names this step; return whether it did."""
    _steps[0] += 1
    who, what, seconds = DISTURB.get(_steps[0], (None, "", 0))
    if who not in (-1, rank):
        return False
    if what == "pause":
        time.sleep(seconds)
    else:
        _work(seconds)
    return True


def _signal(what: str) -> None:
    os.kill(os.getpid(), getattr(signal, what))


def _sleep(_: str) -> None:
    while True:
        time.sleep(1)


def _spin(_: str) -> None:
    while True:
        pass


def _spin_in_c(_: str) -> None:
    """Match a regular expression that takes years and holds the GIL."""
    re.match("(a+)+$", "a" * 80 + "b")


def _work(seconds: float) -> None:
    """Compute with changing stack depth, like a program that evaluates."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        _deeper(time.monotonic_ns() % 40)


def _deeper(levels: int) -> int:
    return _deeper(levels - 1) if levels else sum(range(1000))
