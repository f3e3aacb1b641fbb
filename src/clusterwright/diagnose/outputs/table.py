"""Tables of outputs: a header of known columns, then rows; by width or with `|` between the columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from clusterwright.diagnose.outputs.value import Row

Cells = Mapping[str, str]
Word = tuple[tuple[int, int], str]  # its place in the line, and the word
_WORD = re.compile(r"\S+")
_RULE = re.compile(r"[-=+|\s]+")


def tables(
    rows: Sequence[Row], needed: Sequence[str], others: Sequence[str] = ()
) -> Iterator[list[tuple[Row, Cells]]]:
    """Yield each table whose header has all needed columns and, if others are given, one of these or a single column.

    Names of columns are in lower case. A table ends at an empty line, a gap in the numbers, or a line of other shape.
    """
    index = 0
    while index < len(rows):
        names = _header(rows[index].text)
        is_table = set(needed) <= set(names) and (
            not others or bool(set(others) & set(names)) or len(names) == 1
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


def _end(rows: Sequence[Row], first: int) -> int:
    """Return the index after the last row of a table; a sample leaves lines out, and an empty line is no row."""
    end = first + 1
    while end < len(rows) and rows[end].number == rows[end - 1].number + 1:
        if set(_header(rows[end].text)) & set(_header(rows[first].text)) - {""}:
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
    spans = [match.span() for match in _WORD.finditer(header)]
    return [(row, cells) for row in body if (cells := _by_place(row.text, names, spans)) is not None]


def _by_place(text: str, names: Sequence[str], spans: Sequence[tuple[int, int]]) -> Cells | None:
    """Return the words of a row by column: as many as columns in their order, else each where it overlaps a name."""
    words = _with_sentence([(match.span(), match[0]) for match in _WORD.finditer(text)], names, text)
    if len(words) == len(names):
        return dict(zip(names, (word for _, word in words), strict=True))
    if not words or len(words) > len(names):
        return None
    cells = {}
    for (begin, end), word in words:
        near = min(range(len(spans)), key=lambda which: _distance(spans[which], (begin, end)))
        cells[names[near]] = word
    return cells


def _with_sentence(words: list[Word], names: Sequence[str], text: str) -> list[Word]:
    """Join the words that are more than the columns to the value of the column `reason`, which is a sentence."""
    more = len(words) - len(names)
    if more <= 0 or "reason" not in names:
        return words
    at = names.index("reason")
    begin, end = words[at][0][0], words[at + more][0][1]
    return [*words[:at], ((begin, end), text[begin:end]), *words[at + more + 1 :]]


def _distance(column: tuple[int, int], word: tuple[int, int]) -> int:
    """Return how far the nearest edges of a column's name and of a word are apart; columns align at either edge."""
    return min(abs(column[0] - word[0]), abs(column[1] - word[1]))
