"""A spreadsheet computes nothing that a user has written."""

import pytest

from clusterwright.monitor.report.sheets import safe


@pytest.mark.parametrize(
    "sign", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"]
)
def test_a_formula_is_text(sign):
    """The wide signs too, which Excel takes as the narrow ones."""
    assert safe(f"{sign}HYPERLINK()") == f"'{sign}HYPERLINK()"
    assert safe("-") == "-"
    assert safe("a=b") == "a=b"
