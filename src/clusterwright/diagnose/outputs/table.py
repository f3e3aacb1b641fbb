"""Tables of outputs: a header of known columns, then rows; by width or with `|` between the columns."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from clusterwright.diagnose.outputs.value import Row

Cells = Mapping[str, str]
Value = tuple[tuple[int, int], str]  # its place in the line, and the value
_VALUE = re.compile(r"\S+")
_RULE = re.compile(r"[-=+|\s]+")


@dataclass(frozen=True)
class Columns:
    """The columns of a header: their names, and the places of the names in the line."""

    names: Sequence[str]
    places: Sequence[tuple[int, int]]

    @cached_property
    def _edges(self) -> tuple[list[int], list[int]]:
        return [begin for begin, _ in self.places], [end for _, end in self.places]

    def nearest(self, value: tuple[int, int]) -> int:
        """Return the index of the column with the nearest edge to a value; columns align at either edge."""
        candidates = {
            (abs(edges[index] - edge), index)
            for edges, edge in zip(self._edges, value, strict=True)
            for index in range(
                max(0, bisect_left(edges, edge) - 1), min(len(edges), bisect_left(edges, edge) + 1)
            )
        }
        return min(candidates)[1]


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
    columns = Columns(names, [match.span() for match in _VALUE.finditer(header)])
    return [(row, cells) for row in body if (cells := _by_place(row.text, columns)) is not None]


def _by_place(text: str, columns: Columns) -> Cells | None:
    """Return the values of a line by column: as many as columns in their order, else each where it overlaps a name.

    None for a line without values, or with more than the table has columns.
    """
    names = columns.names
    values = _with_sentence([(match.span(), match[0]) for match in _VALUE.finditer(text)], names, text)
    if len(values) == len(names):
        return dict(zip(names, (value for _, value in values), strict=True))
    if not values or len(values) > len(names):
        return None
    return {names[columns.nearest(span)]: value for span, value in values}


def _with_sentence(values: list[Value], names: Sequence[str], text: str) -> list[Value]:
    """Return the values of a row; if it has more than the columns, the additional ones are joined to that of `reason`.

    The reason is a sentence with blanks. `text` is the whole row; unchanged without such a column.
    """
    more = len(values) - len(names)
    if more <= 0 or "reason" not in names:
        return values
    position = names.index("reason")
    begin, end = values[position][0][0], values[position + more][0][1]
    return [*values[:position], ((begin, end), text[begin:end]), *values[position + more + 1 :]]
