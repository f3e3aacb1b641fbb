"""Robust trends: rates of false findings and of detection on seeded random series, and what is no trend."""

import math
import random

import pytest

from clusterwright.onhost.supervisor.goodput.trend import find_trend, reduce_to_spans, theil_sen

LEAST = 0.05
POINTS, EVERY_S = 480, 10.0


def correlated(source, correlation, spread):
    """Endless noise of which each value resembles the one before."""
    value = 0.0
    while True:
        value = correlation * value + source.gauss(0, spread * math.sqrt(1 - correlation**2))
        yield value


def rates(source, *, fall=0.0, spread=0.04, correlation=0.0, shape=lambda _index, _share: 1.0):
    """Samples per second every ten seconds that fall by a share of the first over the window."""
    noise = correlated(source, correlation, spread)
    return [
        (
            index * EVERY_S,
            1000 * math.exp(next(noise)) * (1 - fall * index / POINTS) * shape(index, index / POINTS),
        )
        for index in range(POINTS)
    ]


def found(series):
    """Return how many of the series have a falling trend."""
    return sum(find_trend(points, rises=False, least=LEAST) is not None for points in series)


NO_TRENDS = {
    "noise": {},
    "noise-of-a-shared-cluster": {"correlation": 0.7},
    "pauses-of-checkpoints": {"shape": lambda index, _: 0.3 if index % 40 < 6 else 1.0},
    "evaluation-of-an-eighth": {"shape": lambda _, share: 0.5 if 0.5 < share < 0.62 else 1.0},
    "warm-up": {"shape": lambda _, share: 1 + 0.15 * math.exp(-share / 0.08)},
    "slow-start": {"shape": lambda _, share: min(1.0, 0.4 + 6 * share)},
    "long-and-short-sequences": {"shape": lambda index, _: 1.0 if index % 3 else 0.6},
}


@pytest.mark.parametrize("name", NO_TRENDS)
def test_at_most_one_series_in_a_thousand_without_a_trend_has_one(name):
    """Over 1,000 seeded series of each kind."""
    source = random.Random(name)

    assert found(rates(source, **NO_TRENDS[name]) for _ in range(1000)) <= 1


def test_one_step_is_no_trend_wherever_it_is():
    """Rates that fall once by a fifth, as after a change of the batch size, at a random time."""
    source = random.Random(2)
    times = [source.random() for _ in range(1000)]
    series = (rates(source, shape=lambda _, share, at=at: 0.8 if share > at else 1.0) for at in times)

    assert found(series) <= 1


@pytest.mark.parametrize("shape", ["noise", "pauses-of-checkpoints"])
def test_a_fall_of_a_tenth_is_found(shape):
    """In at least 95 of 100 series, at a noise of 4 % of each sample."""
    source = random.Random(3)

    assert found(rates(source, fall=0.1, **NO_TRENDS[shape]) for _ in range(400)) >= 380


def test_a_fall_that_begins_late_has_its_own_time():
    """The line begins in the window in which the rate falls."""
    source = random.Random(4)
    points = rates(source, spread=0.01, shape=lambda _, share: 1 - max(0.0, share - 0.7))
    trend = find_trend(points, rises=False, least=LEAST)

    assert trend
    assert 0.45 <= trend.begin / points[-1][0] <= 0.8
    assert -0.35 < trend.change < -0.15


def test_slope_and_values_are_those_of_the_line():
    """2 GiB in an hour, from 10 GiB, with one sample in ten far off."""
    points = [
        (float(second), 10.0 + second / 1800 + (50 if second % 100 == 0 else 0))
        for second in range(0, 7200, 10)
    ]
    trend = find_trend(points, rises=True, least=0.5, relative=False)

    assert trend
    assert trend.per_hour == pytest.approx(2.0, rel=0.05)
    assert trend.final == pytest.approx(14.0, rel=0.05)
    assert find_trend(points, rises=False, least=0.5, relative=False) is None


def test_growth_that_ends_is_no_trend():
    """Caches that fill in the first third, then stay."""
    points = [(float(second), 4.0 + 6 * (1 - math.exp(-second / 1200))) for second in range(0, 7200, 10)]

    assert find_trend(points, rises=True, least=0.5, relative=False) is None


def test_few_points_have_no_trend():
    """Nothing follows from eleven values, from equal times, or from none."""
    assert find_trend([], rises=True, least=LEAST) is None
    assert find_trend([(float(index), 1.0 + index) for index in range(11)], rises=True, least=LEAST) is None
    assert find_trend([(5.0, 1.0 + index) for index in range(50)], rises=True, least=LEAST) is None


def test_a_span_is_the_median_of_its_values():
    """An outlier of each span has no effect; empty spans are left out."""
    points = [(0.0, 1.0), (1.0, 1.0), (2.0, 90.0), (10.0, 3.0), (20.0, 5.0)]

    assert reduce_to_spans(points, 2) == [(1.0, 1.0), (15.0, 4.0)]
    assert theil_sen([(0.0, 1.0), (1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (4.0, 90.0)]) == 1.0
