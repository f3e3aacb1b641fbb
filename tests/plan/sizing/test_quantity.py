"""Counts and shares as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.plan.sizing.workload import parse_count, parse_share
from clusterwright.units import QuantityError


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("52k", 52_000), ("52K", 52_000), ("1.5M", 1_500_000), ("1e9", 10**9), ("2B", 2 * 10**9),
        ("15.6T", 15_600_000_000_000), ("1.1k", 1100), ("52_000", 52_000), ("52,000", 52_000), (" 7 ", 7),
    ],
)  # fmt: skip
def test_a_count(text, count):
    """Thousands, millions, billions and trillions; powers of ten; separators."""
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "52kk", "3h", "nan", "1e-3", "inf", "9" * 40])
def test_no_count(text):
    """Nothing, a fraction, a negative, an unknown suffix."""
    with pytest.raises(QuantityError, match=r"1\.5M"):
        parse_count(text)


@given(st.integers(1, 10**15))
def test_a_plain_number_is_itself(number):
    """No suffix, no change."""
    assert parse_count(str(number)) == number


def test_a_share():
    """In hundredths or as it is."""
    assert parse_share("30%") == parse_share("0.3") == pytest.approx(0.3)
    assert parse_share("0%") == 0


@pytest.mark.parametrize("text", ["30", "100%", "-5%", "1.0", "half", ""])
def test_no_share(text):
    """All of it leaves nothing; 30 without a sign is not said to be hundredths."""
    with pytest.raises(QuantityError, match="30%"):
        parse_share(text)
