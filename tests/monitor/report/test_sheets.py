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


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("x;=cmd|' /C calc'!A0;y", "x;'=cmd|' /C calc'!A0;y"),
        ('x; "=1', "x;' \"=1"),
        ("x\t+1", "x\t'+1"),
        ("x\n@SUM(1)", "x\n'@SUM(1)"),
        ("x;\uff1d1;-2", "x;'\uff1d1;'-2"),
        ("a; b=c", "a; b=c"),
        (" =1", "' =1"),
    ],
)
def test_a_part_behind_a_semicolon_or_tab_is_no_formula(cell, expected):
    """Where the list separator is a semicolon, the part becomes a cell of its own."""
    assert safe(cell) == expected
