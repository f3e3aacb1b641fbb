"""How long ranks may make no progress, learned from their usual progress; pure, without a clock.

Progress is a completed step, or a started collective where the script reports no steps. The envelope belongs
to one host and lives as long as its agent, so a new generation starts with what earlier ones taught.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Deque, NamedTuple, Union

LEAST_S = 1.0
STOPPED_S = 3.0  # a process stopped by a signal does nothing, however long a step may take
TIMES = 8  # a step may take eight times as long as 95 % (NEARLY_ALL) of the others
NEARLY_ALL = 0.95
REMEMBERED = 512
ENOUGH = 5  # observations before the learned limit applies

# The first observations of a generation count separately: compilation, caches and connections take time then.
WARM_UP_POLLS = 10
FIRST_TIMES = 10

# Before anything is learned: longer than nearly every compilation, as torch's own limit for NCCL.
START_S = 600.0
START_LEAST_S = 60.0

LONG_LEAST_S = 60.0
LONG_TIMES = 3


class Limits(NamedTuple):
    """Limits of standstill in seconds: of ranks that others wait for, and of all ranks together."""

    straggler: float
    everyone: float


class Envelope:
    """Learns the usual progress of one host's ranks and derives limits; `hang` is `auto`, `never` or fixed seconds."""

    def __init__(self, hang: Union[str, float] = "auto") -> None:
        self._hang = hang
        self._usual: Deque[float] = deque(maxlen=REMEMBERED)
        self._longest = self._longest_start = 0.0
        self._polls = 0

    def begin(self) -> None:
        """Apply the longer warm-up limits of standstill, as all ranks start again; learned times are retained."""
        self._polls = 0

    def observe(self, seconds: float, longest: float = 0.0) -> None:
        """Record one progress of the ranks, by which the limits of a standstill are learned.

        `seconds` is the time per step or collective, `longest` the standstill before it.
        """
        self._polls += 1
        longest = max(seconds, longest)
        if self._polls <= WARM_UP_POLLS:
            self._longest_start = max(self._longest_start, longest)
        else:
            self._usual.append(seconds)
            self._longest = max(self._longest, longest)

    @property
    def expects(self) -> bool:
        """Return True if a rank without progress so far is expected to make some.

        That is, if other progress was seen, or the limit is fixed.
        """
        return not isinstance(self._hang, str) or bool(self._usual)

    def limits(self, timeout_factor: float = 1, *, stopped: bool = False) -> Limits:
        """Return the limits of standstill, infinite if hang detection is off.

        `timeout_factor` doubles with each verdict that may have been wrong; `stopped`: a signal has stopped a rank,
        so STOPPED_S suffices.
        """
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
