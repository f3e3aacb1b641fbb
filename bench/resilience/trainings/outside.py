"""Measures the time between the work of two steps: the overhead of launcher and library, none in a bare loop.

Differences of 0.1 ms, which step times of 50 ms with larger variation hide, are measurable here. CPU time excludes
other programs of the machine, but also waits of this thread.
With BENCH_PIN each rank and its threads are pinned to one CPU.
"""

from __future__ import annotations

import os
import time

_left = [0.0, 0.0]


def leave() -> None:
    """Start the clock at the end of a step's work, outside of which time counts as overhead."""
    _left[:] = time.perf_counter(), time.thread_time()


def enter() -> dict[str, float]:
    """Stop the clock when the next step's work begins; return the time for its mark, empty before the first step."""
    if not any(_left):
        return {}
    return {"outside": time.perf_counter() - _left[0], "outside_cpu": time.thread_time() - _left[1]}


def _pin() -> None:
    """Pin this rank: otherwise the kernel sometimes puts two ranks on one CPU, for some launchers more often."""
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processors[int(os.environ["LOCAL_RANK"]) % len(processors)]})


if "BENCH_PIN" in os.environ:
    _pin()
