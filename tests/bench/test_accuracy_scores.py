"""Arithmetic of errors."""

import pytest
from bench.accuracy.scores import Off, by, publisher, quantile, rankings, score, verdicts
from hypothesis import given
from hypothesis import strategies as st

SIZE = st.floats(0.01, 100, allow_nan=False)


def off(predicted, measured=1.0, **more):
    """One row."""
    return Off(more.pop("source", "s"), more.pop("label", "l"), predicted, measured, **more)


def test_an_error_is_predicted_over_measured():
    """Less one: too small is negative."""
    assert off(0.9).error == pytest.approx(-0.1)
    assert off(30.0, 20.0).error == pytest.approx(0.5)


def test_a_score_of_four_rows():
    """Counted by hand."""
    rows = [
        off(1.1, inside=True),
        off(0.8, inside=False),
        off(1.0, inside=True, complete=False),
        off(1.5, label="worst", inside=None),
    ]

    found = score(rows)

    assert (found.rows, found.complete) == (4, 3)
    assert found.median == pytest.approx(0.15)
    assert found.mean == pytest.approx(0.2)
    assert found.bias == pytest.approx(0.1)
    assert found.p90 == pytest.approx(0.2 + 0.7 * 0.3)
    assert found.worst.label == "worst"
    assert found.inside == pytest.approx(2 / 3)


@given(st.lists(SIZE, min_size=1, max_size=30), SIZE)
def test_a_score_does_not_depend_on_the_unit(predictions, unit):
    """Seconds or minutes: the same shares."""
    one = score([off(each) for each in predictions])
    other = score([off(each * unit, unit) for each in predictions])

    assert (one.median, one.p90, one.bias) == pytest.approx((other.median, other.p90, other.bias), abs=1e-9)


@given(st.lists(SIZE, min_size=1, max_size=30), st.floats(0, 1))
def test_a_quantile_lies_between_the_least_and_the_most(values, share):
    """And the middle is the median of the sorted values."""
    assert min(values) - 1e-12 <= quantile(values, share) <= max(values) + 1e-12
    assert quantile([1.0, 2.0, 3.0], 0.5) == 2.0


def test_publishers_are_told_from_releases():
    """All releases of one publisher are one."""
    assert {publisher(each) for each in ("DGXC-benchmarking v25.02", "DGXC-benchmarking v24.11.1")} == {
        "DGXC-benchmarking"
    }
    assert publisher("Korthikanti et al. 2205.05198 Table 5") == "Korthikanti"


def test_layouts_are_ranked_within_their_group():
    """The place of the measured best, and what is lost by our first choice."""
    rows = [
        off(predicted, measured, group="g")
        for predicted, measured in ((3.0, 1.0), (2.0, 1.5), (1.0, 1.2), (4.0, 9.0))
    ]
    rows += [off(1.0, group="small"), off(1.0, group="")]

    (found,) = rankings(rows, 4)

    assert found.place == 3
    assert found.lost == pytest.approx(0.2)


def test_verdicts_are_counted_apart():
    """Runs that ran, and runs that did not."""
    found = verdicts([(True, True), (True, False), (False, False), (False, True), (False, False)])

    assert (found.ran, found.ran_called_fitting, found.oom, found.oom_called_fitting) == (2, 1, 3, 1)


def test_groups_keep_every_row():
    """In order of their names."""
    rows = [off(1.0, source=name) for name in "bab"]

    assert [(name, len(mine)) for name, mine in by(rows, lambda each: each.source).items()] == [
        ("a", 1),
        ("b", 2),
    ]
