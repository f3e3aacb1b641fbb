"""The time between the work of two steps: nobody's in a bare loop, the launcher's and the library's in another.

A difference of 0.1 ms is lost in steps of 50 ms whose length varies by more, and is found here. CPU time leaves out
what other programs of the machine take, but also what this thread waits for.
With BENCH_PIN each rank keeps to a processor of its own, with all threads that it starts.
"""

from __future__ import annotations

import os
import time

_left = [0.0, 0.0]


def leave() -> None:
    """The work of a step is done; what follows is not training."""
    _left[:] = time.perf_counter(), time.thread_time()


def enter() -> dict[str, float]:
    """The next step's work begins; what lay between, for its mark. Nothing before the first."""
    if not any(_left):
        return {}
    return {"outside": time.perf_counter() - _left[0], "outside_cpu": time.thread_time() - _left[1]}


def _pin() -> None:
    """Else the kernel puts two ranks on one processor now and then, one launcher's more often than another's."""
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processors[int(os.environ["LOCAL_RANK"]) % len(processors)]})


if "BENCH_PIN" in os.environ:
    _pin()
