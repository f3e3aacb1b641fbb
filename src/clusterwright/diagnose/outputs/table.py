"""Tables of outputs: a header of known columns, then rows; by width or with `|` between the columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.diagnose.outputs.value import Row

Cells = Mapping[str, str]
Value = tuple[tuple[int, int], str]  # its place in the line, and the value
_VALUE = re.compile(r"\S+")
_RULE = re.compile(r"[-=+|\s]+")


def tables(
    rows: Sequence[Row], needed: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[list[tuple[Row, Cells]]]:
    """Yield each table whose header has all needed columns and, if optional are given, one of these or a single column.

    Names of columns are in lower case. A table ends at an empty line, a gap in the numbers, or a line of other shape.
    """
    index = 0
    while index < len(rows):
        names = _header(rows[index].text)
        is_table = set(needed) <= set(names) and (
            not optional or bool(set(optional) & set(names)) or len(names) == 1
        )
        if not is_table:
            index += 1
            continue
        end = _end(rows, index)
        table = _table(rows[index:end])
        if table:
            yield table
        index = end


def _header(text: str) -> list[str]:
    return [name.strip().rstrip(":").lower() for name in (text.split("|") if "|" in text else text.split())]


def _end(rows: Sequence[Row], header_index: int) -> int:
    """Return the index after the last row of a table; a sample leaves lines out, and an empty line is no row."""
    end = header_index + 1
    while end < len(rows) and (rows[end].host or rows[end].number == rows[end - 1].number + 1):
        if set(_header(rows[end].text)) & set(_header(rows[header_index].text)) - {""}:
            break  # the header of the next table
        end += 1
    return end


def _table(rows: Sequence[Row]) -> list[tuple[Row, Cells]]:
    header = rows[0].text
    names = _header(header)
    body = [row for row in rows[1:] if not _RULE.fullmatch(row.text)]
    if "|" in header:
        return [
            (row, dict(zip(names, map(str.strip, row.text.split("|")), strict=False)))
            for row in body
            if "|" in row.text
        ]
    spans = [match.span() for match in _VALUE.finditer(header)]
    return [(row, cells) for row in body if (cells := _by_place(row.text, names, spans)) is not None]


def _by_place(text: str, names: Sequence[str], spans: Sequence[tuple[int, int]]) -> Cells | None:
    """Return the values of a row by column: as many as columns in their order, else each where it overlaps a name."""
    values = _with_sentence([(match.span(), match[0]) for match in _VALUE.finditer(text)], names, text)
    if len(values) == len(names):
        return dict(zip(names, (value for _, value in values), strict=True))
    if not values or len(values) > len(names):
        return None
    cells = {}
    for (begin, end), value in values:
        column = min(range(len(spans)), key=lambda which: _distance(spans[which], (begin, end)))
        cells[names[column]] = value
    return cells


def _with_sentence(values: list[Value], names: Sequence[str], text: str) -> list[Value]:
    """Join the values that are more than the columns to the value of the column `reason`, which is a sentence."""
    more = len(values) - len(names)
    if more <= 0 or "reason" not in names:
        return values
    position = names.index("reason")
    begin, end = values[position][0][0], values[position + more][0][1]
    return [*values[:position], ((begin, end), text[begin:end]), *values[position + more + 1 :]]


def _distance(column: tuple[int, int], value: tuple[int, int]) -> int:
    """Return how far the nearest edges of a column's name and of a value are apart; columns align at either edge."""
    return min(abs(column[0] - value[0]), abs(column[1] - value[1]))
