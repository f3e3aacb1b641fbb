"""A CSV table in and out."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import WrightError
from clusterwright.plan.predict.table import read, written

CELL = st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=5))
def test_what_is_written_is_read_again(rows):
    """Commas, quotes and all."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    again = read(written(("a", "b", "c"), rows).encode(), "t.csv")

    assert [line.cells for line in again.lines] == rows


def test_rows_know_their_lines():
    """Blank lines and line breaks in quotes are counted."""
    table = read(b'a,b\n1,2\n\n"3\n4",5\n6,7\n', "t.csv")

    assert [line.number for line in table.lines] == [2, 4, 6]
    assert table.lines[1].cells == ("3\n4", "5")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters(delimiter):
    """What a spreadsheet of any country writes."""
    table = read(delimiter.join("abc").encode() + b"\n" + delimiter.join(["1", "2", "3"]).encode(), "t.csv")

    assert (table.columns, table.delimiter) == (("a", "b", "c"), delimiter)
    assert table.row(table.lines[0]) == {"a": "1", "b": "2", "c": "3"}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "predict-empty"),
        (b"a,b,a\n", "predict-column-twice"),
        (b'a,b\n"x,' + b"y" * 2**25, "predict-not-csv"),
    ],
)
def test_what_is_no_table(data, code):
    """Each is said with its own code, and a place where there is one."""
    with pytest.raises(WrightError) as caught:
        read(data, "t.csv")

    assert [finding.code for finding in caught.value.findings] == [code]
    assert caught.value.exit_code == 2


def test_ragged_rows_are_kept():
    """They are refused one by one, not the table."""
    table = read(b"a,b\n1\n1,2,3\n", "t.csv")

    assert [len(line.cells) for line in table.lines] == [1, 3]


def test_written_tables_are_plain():
    """Unix line ends, quotes only where needed."""
    assert written(("a", "b"), [("1", 'x,"y"')]) == 'a,b\n1,"x,""y"""\n'
    assert list(csv.reader(io.StringIO(written(("a",), [("x;y",)], ";")), delimiter=";")) == [["a"], ["x;y"]]
