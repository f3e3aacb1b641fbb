"""What is usual in a fleet: median and median absolute deviation, which a few bad hosts cannot move; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

FEWEST = 3  # of two that differ, nobody knows which one is wrong
AS_SIGMA = 1.4826  # a normal distribution's standard deviation over its median absolute deviation
# Ours: hosts nearer to each other than this are alike, and must not make an outlier of the next.
LEAST_SPREAD = 0.03
TINY = 1e-9  # a rate of nothing has no logarithm
OUTLIER_DEVIATIONS = (
    3.5  # B. Iglewicz, D. Hoaglin, "How to detect and handle outliers" (1993): modified z-scores beyond 3.5
)


@dataclass(frozen=True, slots=True)
class Fleet:
    """How many there are, their median, and one robust standard deviation; never less than `LEAST_SPREAD`."""

    size: int
    median: float
    spread: float

    def distance(self, value: float) -> float | None:
        """How far above (or, negative, below) the median, in deviations; None where too few say what is usual."""
        if self.size < FEWEST:
            return None
        return (value - self.median) / self.spread if self.spread else 0.0


def fleet(values: Iterable[float]) -> Fleet:
    """Of all values, the one that is to be judged among them."""
    sample = list(values)
    if not sample:
        return Fleet(0, 0.0, 0.0)
    middle = statistics.median(sample)
    deviation = statistics.median(abs(value - middle) for value in sample)
    return Fleet(len(sample), middle, max(AS_SIGMA * deviation, LEAST_SPREAD * abs(middle)))


def factors(values: Iterable[float]) -> float:
    """One robust deviation of the logarithms: for rates that differ by factors, as those of disks in use do."""
    logs = [math.log(max(value, TINY)) for value in values]
    middle = statistics.median(logs)
    return max(AS_SIGMA * statistics.median(abs(log - middle) for log in logs), LEAST_SPREAD)
