"""The usual value in a fleet: median and median absolute deviation, which a few bad hosts cannot move; pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

FEWEST = 3  # when two differ, there is no telling which one is wrong
AS_SIGMA = 1.4826  # a normal distribution's standard deviation over its median absolute deviation
# Ours: values nearer to each other than this count as equal, so that small spreads make no outliers.
LEAST_SPREAD = 0.03
TINY = 1e-9  # zero has no logarithm
OUTLIER_DEVIATIONS = (
    3.5  # B. Iglewicz, D. Hoaglin, "How to detect and handle outliers" (1993): modified z-scores beyond 3.5
)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Number of values, their median, and one robust standard deviation, at least `LEAST_SPREAD` of the median."""

    size: int
    median: float
    spread: float

    def distance(self, value: float) -> float | None:
        """Return how many deviations a value is above the median (negative: below); None below `FEWEST` values."""
        if self.size < FEWEST:
            return None
        return (value - self.median) / self.spread if self.spread else 0.0


def fleet(values: Iterable[float]) -> Fleet:
    """Return number, median and robust standard deviation of all values, including the value that is judged.

    The deviation is at least a small share of the median; all are 0 without values.
    """
    sample = list(values)
    if not sample:
        return Fleet(0, 0.0, 0.0)
    middle = statistics.median(sample)
    deviation = statistics.median(abs(value - middle) for value in sample)
    return Fleet(len(sample), middle, max(AS_SIGMA * deviation, LEAST_SPREAD * abs(middle)))


def factors(values: Iterable[float]) -> float:
    """Return one robust deviation of the logarithms: for rates that differ by factors, as those of disks in use do."""
    logs = [math.log(max(value, TINY)) for value in values]
    middle = statistics.median(logs)
    return max(AS_SIGMA * statistics.median(abs(log - middle) for log in logs), LEAST_SPREAD)
