"""Whether a series of rates falls, which a noisy one, one with a pause, and one that only starts do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import linear_regression, median

from clusterwright.onhost.supervisor.goodput.trend import find_trend, kendall_score

LEAST = 4  # groups of values for a trend; three suffice if each of them falls far
FEW_FALL = 0.75  # of three groups, each is at most this share of the one before
FALLS_TO = 0.7  # the last third of the groups is below this share of the first third
ORDER = -0.45  # Kendall's tau; -1: each value is below all before it; one step down in the middle gives -0.55
LONG_SERIES, LONG_SERIES_FALL = (
    48,
    0.22,
)  # values of which a fall by a fifth (this logarithm) is told from noise
TENTHS = 10
STEADY = 1.5  # the highest median of a steady series to its lowest


@dataclass(frozen=True, slots=True)
class Trend:
    """The medians of a series by epoch, or by tenth of the log; `slope` is the change from one to the next."""

    values: tuple[float, ...]
    slope: float
    falls: bool
    has_epochs: bool

    @property
    def initial(self) -> float:
        """Return the highest median of the trend's first third."""
        return max(self.values[: max(1, len(self.values) // 3)])

    @property
    def is_steady(self) -> bool:
        """Return True if the trend's medians differ by less than a half of the lowest."""
        return max(self.values) < STEADY * min(self.values)

    @property
    def final(self) -> float:
        """Return the last median of the series: that of its last epoch, or of the last tenth of the log."""
        return self.values[-1]


def trend(groups: Sequence[Sequence[float]], *, has_epochs: bool) -> Trend | None:
    """Return the medians, the slope of a line through them, and whether the values fall; None for under 3 medians.

    With `has_epochs`, a median is that of one group, else that of one tenth of all values.
    """
    medians = [median(group) for group in (groups if has_epochs else _tenths(groups))]
    if len(medians) < LEAST - 1:
        return None
    slope = linear_regression(range(len(medians)), medians).slope
    values = [value for group in groups for value in group]
    return Trend(tuple(medians), slope, _falls(medians) or _falls_steadily(values), has_epochs)


def _falls_steadily(values: Sequence[float]) -> bool:
    """Return whether many values fall by a fifth or more up to the last, which shows in fewer only if it is more."""
    points = [(float(index), value) for index, value in enumerate(values)]
    return len(points) >= LONG_SERIES and find_trend(points, rises=False, least=LONG_SERIES_FALL) is not None


def _tenths(groups: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the values of a log in at most ten groups of about one size."""
    values = [value for group in groups for value in group]
    count = min(TENTHS, len(values))
    bounds = [len(values) * index // count for index in range(count + 1)] if count else [0]
    return [values[begin:end] for begin, end in pairwise(bounds)]


def _falls(values: Sequence[float]) -> bool:
    if len(values) < LEAST:
        return all(current <= previous * FEW_FALL for previous, current in pairwise(values))
    steady = values[1:] if len(values) > LEAST else values  # the first one has the start-up
    third = max(2, len(steady) // 3)
    start, end = steady[:third], steady[-third:]
    return max(end) < FALLS_TO * min(start) and _order(steady) <= ORDER


def _order(values: Sequence[float]) -> float:
    """Return Kendall's tau of the values against their order: 1 if all rise, -1 if all fall.

    Equal ones count as neither.
    """
    return kendall_score(values) / (len(values) * (len(values) - 1) / 2)
