"""Measures the seconds of each step of an apply on a host, by the monotonic clock.

Standard library only, Python 3.6 or later. A nested step counts only for itself, not for the outer one.
"""

import contextlib
import sys
import time
from typing import Dict, Iterator, List

STEP = "clusterwright-step:"  # begins a line of stdout with the name of a step that begins
LEAST_ROW_S = 0.05  # slower resources have a row of their own, the others one for their kind

_seconds: Dict[str, float] = {}
_inner: List[float] = [0.0]  # seconds of the steps inside each open step
_printing: List[bool] = []  # with an element, steps are printed


def show_steps(*, enabled: bool) -> None:
    """Print the name of each later step as it begins, if enabled."""
    _printing[:] = [True] * enabled


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Measure a `with` block, and add its seconds, less those of nested steps, to the time of this name.

    A resource's name is `kind:name`. If progress is printed, its name is printed first.
    """
    if _printing:
        sys.stdout.write("%s%s\n" % (STEP, name))
        sys.stdout.flush()
    began = time.monotonic()
    _inner.append(0.0)
    try:
        yield
    finally:
        elapsed = time.monotonic() - began
        _seconds[name] = _seconds.get(name, 0.0) + elapsed - _inner.pop()
        _inner[-1] += elapsed


def rows() -> Dict[str, float]:
    """Return seconds by step, in the order in which the steps first ended; fast resources of a kind share a row."""
    totals = {}  # type: Dict[str, float]
    for name, seconds in _seconds.items():
        kind, _, resource_name = name.partition(":")
        row = kind + " resources" if resource_name and seconds < LEAST_ROW_S else name
        totals[row] = totals.get(row, 0.0) + seconds
    return {name: round(seconds, 4) for name, seconds in totals.items()}
