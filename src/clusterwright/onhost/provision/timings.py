"""Where the time of an apply goes on a host: seconds of each step, by a clock that is never set back.

Standard library only, Python 3.6 or later. A step inside another one is not counted twice.
"""

import contextlib
import time
from typing import Dict, Iterator, List

LEAST_ROW_S = 0.05  # a resource that took longer has a row of its own, the others one for their kind

_seconds: Dict[str, float] = {}
_inner: List[float] = [0.0]  # seconds of the steps inside each open step


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Time what is done inside it; `kind:name` is a resource."""
    began = time.monotonic()
    _inner.append(0.0)
    try:
        yield
    finally:
        elapsed = time.monotonic() - began
        _seconds[name] = _seconds.get(name, 0.0) + elapsed - _inner.pop()
        _inner[-1] += elapsed


def rows() -> Dict[str, float]:
    """Seconds by step, in the order of their first end."""
    totals = {}  # type: Dict[str, float]
    for name, seconds in _seconds.items():
        kind, _, resource_name = name.partition(":")
        row = kind + " resources" if resource_name and seconds < LEAST_ROW_S else name
        totals[row] = totals.get(row, 0.0) + seconds
    return {name: round(seconds, 4) for name, seconds in totals.items()}
