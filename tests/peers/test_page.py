"""The page on defects of others names tests that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "concepts" / "mistakes.md").read_text()


def test_every_defect_and_every_complaint_has_its_row():
    """Thirteen and fifteen; what is not done yet says so and names no test."""
    rows = [line.split(" | ") for line in PAGE.splitlines() if re.match(r"\| (D\d|pain)", line)]
    told = " ".join(row[0] for row in rows)

    assert {int(n) for n in re.findall(r"D(\d+)", told)} == set(range(1, 14))
    assert {int(n) for n in re.findall(r"pain (\d+)", told)} == set(range(1, 16))
    assert [row[0] for row in rows if (row[1] == "not yet") == ("tests/" in row[2])] == []


def test_every_test_that_the_page_names_is_there():
    """A test that was moved takes its row along."""
    named = re.findall(r"`(tests/[^`]+)`", PAGE)

    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
