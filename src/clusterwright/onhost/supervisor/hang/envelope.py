"""How long ranks may stand still, learned from how they move: values in, values out, no clock.

A rank moves when it completes a step, or starts a collective where the script shows no steps. The envelope belongs
to one host and lives as long as its agent, so that a new generation begins with what the last ones taught.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Deque, NamedTuple, Union

LEAST_S = 1.0
STOPPED_S = 3.0  # who was stopped by a signal does nothing, however long a step may take
TIMES = 8  # a step that takes eight times as long as nearly all others
NEARLY_ALL = 0.95
REMEMBERED = 512
ENOUGH = 5  # looks at moving ranks before the limit is the learned one

# The first looks at a moving generation are apart: compilers, caches and connections are made in them.
WARM_UP_POLLS = 10
FIRST_TIMES = 10

# With nothing learned at all: longer than nearly every compilation, as torch's own limit for NCCL.
START_S = 600.0
START_LEAST_S = 60.0

LONG_LEAST_S = 60.0
LONG_TIMES = 3


class Limits(NamedTuple):
    """Seconds of standstill: of ranks that are behind others, and of all together."""

    straggler: float
    everyone: float


class Envelope:
    """What one host has seen of its ranks; `hang` is `auto`, `never` or seconds."""

    def __init__(self, hang: Union[str, float] = "auto") -> None:
        self._hang = hang
        self._usual: Deque[float] = deque(maxlen=REMEMBERED)
        self._longest = self._longest_start = 0.0
        self._polls = 0

    def begin(self) -> None:
        """A generation begins."""
        self._polls = 0

    def observe(self, seconds: float, longest: float = 0.0) -> None:
        """A look found that the ranks had moved: so long for one change, and so long without any before it."""
        self._polls += 1
        longest = max(seconds, longest)
        if self._polls <= WARM_UP_POLLS:
            self._longest_start = max(self._longest_start, longest)
        else:
            self._usual.append(seconds)
            self._longest = max(self._longest, longest)

    @property
    def expects(self) -> bool:
        """Whether a rank that has not moved yet is known to be one that will."""
        return not isinstance(self._hang, str) or bool(self._usual)

    def limits(self, timeout_factor: float = 1, *, stopped: bool = False) -> Limits:
        """What holds now; `timeout_factor` grows with each verdict that may have been wrong."""
        if self._hang == "never":
            return Limits(math.inf, math.inf)
        if isinstance(self._hang, str):
            straggler = self._straggler_limit() * timeout_factor
            return Limits(
                min(straggler, STOPPED_S) if stopped else straggler, self._everyone() * timeout_factor
            )
        return Limits(self._hang, self._hang)

    def _straggler_limit(self) -> float:
        if len(self._usual) < ENOUGH:
            return START_S
        learned = max(LEAST_S, TIMES * _percentile(self._usual))
        if self._polls >= WARM_UP_POLLS:
            return learned
        if not self._polls:
            return max(START_LEAST_S, LONG_TIMES * self._longest_start, FIRST_TIMES * learned)
        return max(FIRST_TIMES * learned, LONG_TIMES * self._longest_start)

    def _everyone(self) -> float:
        long = max(LONG_LEAST_S, LONG_TIMES * self._longest, LONG_TIMES * self._longest_start)
        return max(long, self._straggler_limit())


def _percentile(samples: Deque[float]) -> float:
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(NEARLY_ALL * len(ordered)))]
