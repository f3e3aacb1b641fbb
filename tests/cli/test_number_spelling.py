"""How a number that was typed with a percent sign, comma or suffix is to be written."""

import pytest

from clusterwright.cli._numbers import number_spelling, share_spelling


@pytest.mark.parametrize(
    ("text", "spelling"),
    [("5%", "0.05"), ("110 %", "1.1"), ("100%", "1"), ("2,5%", "0.025"), ("5", ""), ("%", "")],
)
def test_a_percentage_is_a_share_of_1(text, spelling):
    """No option of a command is a number of percent."""
    assert share_spelling(text) == spelling


@pytest.mark.parametrize(
    ("text", "is_integer", "spelling"),
    [("1,000", True, "1000"), ("1,5", False, "1.5"), ("2:1", False, "2"), ("2M", True, "2000000")],
)
def test_a_number_with_a_comma_or_suffix(text, is_integer, spelling):
    """In digits."""
    assert number_spelling(text, is_integer=is_integer) == spelling
