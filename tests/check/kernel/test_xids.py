"""The table of XIDs is whole, typed, and says why."""

import tomllib
from importlib.resources import files

import pytest
from pydantic import ValidationError

from clusterwright.check.kernel.xids import Xid, table, xid

SOURCES = tomllib.loads((files("clusterwright.check.kernel") / "xids.toml").read_text())["sources"]


def test_no_number_has_two_rows():
    """Which of them would count?"""
    rows = {id(row): row for row in table().values()}

    assert sum(len(row.numbers) for row in rows.values()) == len(table())


@pytest.mark.parametrize("number", sorted(table()))
def test_a_row_says_what_to_do_and_who_says_so(number):
    """Its sources are named above; where two of them are told apart there is a reason."""
    row = xid(number)

    assert row.meaning
    assert row.action
    assert set(row.source) <= set(SOURCES)
    assert row.reason or len(row.source) == 1 or set(row.source) <= {"nvidia", "azure", "imbue", "gpud"}
    assert row.severity != "fail" or row.domain != "app"


def test_a_number_without_a_row_asks_for_its_vendor():
    """NVIDIA adds some with every driver."""
    assert xid(4711).severity == "warn"
    assert xid(4711).numbers == (4711,)


def test_a_row_with_a_word_that_does_not_exist_is_refused():
    """A misspelt field would be a rule that never holds."""
    row = {
        "numbers": (1,),
        "meaning": "m",
        "domain": "gpu",
        "severity": "fail",
        "action": "a",
        "source": ("nvidia",),
    }

    assert Xid.model_validate(row).holds == 24
    for wrong in ({"ignore_befor": "any"}, {"severity": "bad"}, {"holds": "week"}, {"numbers": ("1",)}):
        with pytest.raises(ValidationError):
            Xid.model_validate(row | wrong)
