"""Numbers in the data of users and other hosts."""

import pytest

from clusterwright.onhost.lib.numbers import ascii_int, finite, plain_number


@pytest.mark.parametrize(
    "text", ["", "²", "٢", "1²", "-1", "+1", " 1", "1_0", "1.0", "9" * 21, "9" * 5000, "\ud800"]
)
def test_only_ascii_digits_are_an_integer(text):
    """Other digits, signs and lengths are not."""
    assert ascii_int(text) is None


def test_an_integer_of_64_bits_is_read():
    """The largest one, and leading zeros."""
    assert (ascii_int(str(2**64 - 1)), ascii_int("007")) == (2**64 - 1, 7)


@pytest.mark.parametrize(
    "value", [10**400, -(10**400), "x", "1e999", float("nan"), float("-inf"), None, [], {}]
)
def test_what_is_not_a_finite_number_is_none(value):
    """Huge integers and wrong types too."""
    assert finite(value) is None


def test_a_finite_number_is_a_float():
    """Of a text or a number."""
    assert (finite("1.5"), finite(2), finite(True)) == (1.5, 2.0, 1.0)


@pytest.mark.parametrize("value", [10**20, "3", [1], {"a": 1}, float("inf"), float("nan"), None])
def test_a_plain_number_is_one_that_every_reader_takes(value):
    """Integers of 64 bits and finite floats; nothing is converted."""
    assert plain_number(value) is None
    assert (plain_number(-7), plain_number(0.5)) == (-7, 0.5)
