"""Robust trends: whether values rise or fall over time by more than noise, pauses, warm-up and single steps explain.

Values are reduced to the medians of equal spans of time, so pauses for checkpoints and evaluations, of less than half
of a span, have no effect. The slope is that of Theil and Sen (the median of all pairs). It counts if the test of Mann
and Kendall excludes chance, and if it is several standard errors, which are larger where neighboring spans resemble
each other. Pure, standard library only.
"""

from __future__ import annotations

import math
from statistics import median
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

T = TypeVar("T")
Points = Sequence[Tuple[float, float]]  # time in seconds, value

SPANS = 24  # per window: 276 pairs
LEAST_SPANS = 12  # with a value; of fewer, nothing follows
CHANCE = 1e-4  # probability of a trend in values without one, for each window
STEADY = 0.4  # the slope of a window's second half is at least this share of the first half's: no warm-up
MOST_CORRELATION = 0.8
LEAST_ERRORS = (
    5.0  # the change is at least so many standard errors, after the correlation of neighboring spans
)
WINDOWS = (1.0, 0.5, 0.25)  # shares of the time, up to its end: a change may begin late


class Trend(NamedTuple):
    """A change that lasts: `begin` its first time in seconds, `initial` and `final` the values of the fitted line."""

    begin: float
    end: float
    initial: float
    final: float
    chance: float  # probability that values without a trend look like this

    @property
    def change(self) -> float:
        """Return the change as a share of the initial value: -0.1 for a tenth less; infinite if that is 0."""
        return self.final / self.initial - 1 if self.initial else math.inf

    @property
    def per_hour(self) -> float:
        """Return the mean change of the value in an hour, by the fitted line."""
        return (self.final - self.initial) / (self.end - self.begin) * 3600


def find_trend(points: Points, *, rises: bool, least: float, relative: bool = True) -> Optional[Trend]:
    """Return the lasting rise or fall up to the end of the points, over the longest window with one; else None.

    `least` is the smallest change: of the logarithm for positive values (`relative`), else of the values.
    """
    ordered = sorted((moment, value) for moment, value in points if value > 0 or not relative)
    for share in WINDOWS if ordered else ():
        begin = ordered[-1][0] - share * (ordered[-1][0] - ordered[0][0])
        spans = reduce_to_spans([point for point in ordered if point[0] >= begin])
        if len(spans) < LEAST_SPANS:
            return None
        sign = 1.0 if rises else -1.0
        scaled = [(moment, sign * (math.log(value) if relative else value)) for moment, value in spans]
        rising_line = _rising(scaled, least, 2 * least if relative else math.inf)
        if rising_line:
            values = [math.exp(sign * value) if relative else sign * value for value in rising_line[2:4]]
            return Trend(rising_line.begin, rising_line.end, values[0], values[1], rising_line.chance)
    return None


def reduce_to_spans(ordered: Points, count: int = SPANS) -> List[Tuple[float, float]]:
    """Return for each of `count` equal spans of time with values their median and their median time."""
    begin, length = ordered[0][0], (ordered[-1][0] - ordered[0][0]) / count
    groups: List[List[Tuple[float, float]]] = [[] for _ in range(count)]
    for moment, value in ordered:
        groups[min(count - 1, int((moment - begin) / length)) if length > 0 else 0].append((moment, value))
    return [
        (median(moment for moment, _ in group), median(value for _, value in group))
        for group in groups
        if group
    ]


def _rising(spans: Points, least: float, lasting: float) -> Optional[Trend]:
    """Return the trend of rising values; None if chance, a single step, or a warm-up explains them as well.

    It is no warm-up if the second half alone rises by `lasting`.
    """
    slope = theil_sen(spans)
    begin, end = spans[0][0], spans[-1][0]
    if slope * (end - begin) < least:
        return None
    offset, residuals = _residuals(spans, slope)
    head, tail = spans[: len(spans) // 2], spans[len(spans) // 2 :]
    slopes = theil_sen(head), theil_sen(tail)
    half_residuals = (
        _residuals(head, slopes[0])[1] + _residuals(tail, slopes[1])[1]
    )  # a curve is no correlation
    values = [value for _, value in spans]
    chance, is_step = _chance(values), _step_error(values) < sum(value * value for value in residuals)
    has_ended = slopes[1] < STEADY * slopes[0] and slopes[1] * (tail[-1][0] - tail[0][0]) < lasting
    if chance > CHANCE or is_step or has_ended:
        return None
    if slope * (end - begin) < LEAST_ERRORS * _error_of_change(half_residuals):
        return None
    return Trend(begin, end, offset + slope * begin, offset + slope * end, chance)


def _residuals(points: Points, slope: float) -> Tuple[float, List[float]]:
    """Return the offset of the line with this slope, and by what each value exceeds the line."""
    offset = median(value - slope * moment for moment, value in points)
    return offset, [value - slope * moment - offset for moment, value in points]


def neighbors(items: Sequence[T]) -> Iterator[Tuple[T, T]]:
    """Yield each item with the next one (`itertools.pairwise` is newer than the hosts' Python)."""
    following = items[1:]
    return zip(items, following)


def theil_sen(points: Points) -> float:
    """Return the median of the slopes of all pairs of points; 0 for fewer than two times."""
    slopes = [
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for index, later in enumerate(points)
        for earlier in points[:index]
        if later[0] > earlier[0]
    ]
    return median(slopes) if slopes else 0.0


def kendall_score(values: Sequence[float]) -> int:
    """Return Kendall's score: pairs in rising order minus pairs in falling order."""
    return sum(
        (later > earlier) - (later < earlier)
        for index, later in enumerate(values)
        for earlier in values[:index]
    )


def _chance(values: Sequence[float]) -> float:
    """Return the probability of so high a Kendall score in values without a trend; 1 for equal or too few values."""
    count = len(values)
    ties = sum(size * (size - 1) * (2 * size + 5) for size in map(values.count, set(values)))
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18
    if variance <= 0:
        return 1.0
    return 0.5 * math.erfc((kendall_score(values) - 1) / math.sqrt(2 * variance))


def _error_of_change(residuals: Sequence[float]) -> float:
    """Return the standard error of a line's change over all values; values that resemble the one before count less."""
    total = sum(value * value for value in residuals)
    products = sum(earlier * later for earlier, later in neighbors(residuals))
    correlation = min(MOST_CORRELATION, max(0.0, products / total)) if total > 0 else 0.0
    count = len(residuals)
    return math.sqrt(total / count * 12 / count * (1 + correlation) / (1 - correlation))


def _step_error(values: Sequence[float]) -> float:
    """Return the smallest sum of squared errors with which one step between two constant levels fits the values."""
    total, squares = sum(values), sum(value * value for value in values)
    best, head = math.inf, 0.0
    for count in range(1, len(values)):
        head += values[count - 1]
        best = min(best, squares - head * head / count - (total - head) ** 2 / (len(values) - count))
    return best
