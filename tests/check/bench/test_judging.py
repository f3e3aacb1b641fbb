"""Two opinions and a repeat, before a part fails."""

import pytest

from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.fleet import AS_SIGMA, LEAST_SPREAD, fleet
from clusterwright.check.bench.judging import Expectation, Observation, judge
from clusterwright.check.verdict import Status

WANT = Expectation(100.0, "bytes/s", "rate / 8", 0.8)
WELL = (100.0, 99.0, 101.0, 100.0)


@pytest.mark.parametrize(
    ("values", "others", "want", "status"),
    [
        ((99.0,), WELL, WANT, Status.OK),
        ((50.0, 51.0), (*WELL, 51.0), WANT, Status.FAIL),
        ((50.0,), (*WELL, 50.0), WANT, Status.WARN),  # measured once
        ((50.0, 98.0), (*WELL, 98.0), WANT, Status.OK),  # a disturbance
        ((85.0, 85.0), (*WELL, 85.0), WANT, Status.WARN),  # behind the others, and still enough
        (
            (50.0, 50.0),
            (50.0, 50.0, 51.0),
            WANT,
            Status.WARN,
        ),  # all are slow: the expectation, or what all share
        ((50.0, 50.0), (50.0, 100.0), WANT, Status.WARN),  # of two hosts the fleet cannot say
        ((99.0,), (99.0,), WANT, Status.OK),
        ((50.0, 50.0), (*WELL, 50.0), None, Status.WARN),  # nothing is expected
        ((99.0,), WELL, None, Status.OK),
        ((99.0,), (99.0, 98.0), None, Status.UNKNOWN),
    ],
)
def test_both_must_agree_and_a_bad_one_is_repeated(values, others, want, status):
    """Below what is expected and behind the fleet, twice: fail. One of them, or once: a warning."""
    verdict = judge("network", Observation("n1", values, fleet(others), "bytes/s"), want, "reseat it")

    assert verdict.status is status
    assert verdict.fix == ("reseat it" if status in (Status.WARN, Status.FAIL) else "")


def test_a_verdict_names_its_numbers():
    """What was seen, how far from the others, and how the expectation was worked out."""
    verdict = judge(
        "network", Observation("n1", (50.0, 51.0), fleet((*WELL, 51.0)), "bytes/s", "compute"), WANT, ""
    )

    assert (
        verdict.observed
        == "51 B/s, the best of 2 measurements, -16.3 deviations from the median of all hosts"
    )
    assert verdict.expected == "80 B/s (80% of 100 B/s: rate / 8)"
    assert (verdict.subject, verdict.check, verdict.part) == ("n1", "network", "compute")


def test_a_fleet_is_judged_by_what_a_few_bad_ones_cannot_move():
    """Three of seven far off leave median and deviation as they are."""
    found = fleet((100.0, 101.0, 99.0, 100.0, 5.0, 6.0, 900.0))

    assert (found.size, found.median, found.spread) == (7, 100.0, max(AS_SIGMA, 100 * LEAST_SPREAD))
    assert found.distance(100.0) == 0
    assert found.distance(5.0) < -30
    assert fleet((1.0, 2.0)).distance(1.0) is None
    assert fleet((0.0, 0.0, 0.0)).distance(0.0) == 0


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (23_600_000, "bytes/s", "23.6 MB/s"), (0.0000031, "s", "3.1 us"), (75.0, "s", "75 s"),
        (312e12, "FLOP/s", "312 TFLOP/s"), (0, "bytes/s", "0 bytes/s"), (1234.0, "1/s", "1.23 k/s"),
        (0.5, "ratio", "0.5 ratio"),
    ],
)  # fmt: skip
def test_amounts_are_short(value, unit, text):
    """Three digits, and a prefix where the unit takes one."""
    assert amount(value, unit) == text
