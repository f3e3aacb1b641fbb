"""Reading and writing of CSV tables; all columns and rows are preserved, also invalid ones."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, Finding, Location, WrightError
from clusterwright.i18n import _
from clusterwright.plan.predict.decoding import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_DELIMITERS = (",", ";", "\t")
_LONGEST_CELL = 2**24  # characters


@dataclass(frozen=True, slots=True)
class TableLine:
    """One row: the line of the file where it begins, its cells, and a remark on its encoding."""

    number: int
    cells: tuple[str, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as read from a file."""

    columns: tuple[str, ...]
    lines: tuple[TableLine, ...]
    delimiter: str = ","
    remark: str = ""  # on the header's line, or the whole file

    def row(self, line: TableLine) -> dict[str, str]:
        """Return the cells of a line by column."""
        return dict(zip(self.columns, line.cells, strict=False))


def read(data: bytes, file: str) -> Table:
    """Parse a CSV table with a header; the delimiter is the one of comma, semicolon or tab that the header has most of.

    Rows whose length differs from the header's are accepted here and refused by the prediction.

    Raises:
        WrightError: predict-empty, predict-column-twice or predict-not-csv.
    """
    text = decode(data)
    header = next((line for line in text.lines if line.strip()), "")
    delimiter = max(_DELIMITERS, key=header.count)
    records = list(_records(text.lines, delimiter, file))
    if not records:
        raise WrightError.from_code(
            "predict-empty",
            _("{file} has no header", file=file),
            _("give a CSV with a header line"),
            exit_code=2,
        )
    (header_line, names), *body = records
    columns = tuple(name.strip() for name in names)
    _refuse_duplicates(columns, Location(file, header_line))
    lines = tuple(TableLine(number, tuple(cells), text.remarks.get(number, "")) for number, cells in body)
    return Table(columns, lines, delimiter, text.remarks.get(header_line, ""))


def _records(lines: Sequence[str], delimiter: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield non-blank records, each with the line on which it begins.

    Raises:
        WrightError: predict-not-csv, with the line.
    """
    previous_limit = csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    start = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        finding = Finding(
            "predict-not-csv",
            _("from this line on the file is not CSV: {error}", error=error),
            _("close the quotes"),
            (Location(file, start),),
        )
        raise WrightError(finding, exit_code=EXIT_USAGE) from error
    finally:
        csv.field_size_limit(previous_limit)


def _refuse_duplicates(columns: tuple[str, ...], location: Location) -> None:
    duplicates = [name for name, times in Counter(columns).items() if times > 1]
    if duplicates:
        names = ", ".join(f"`{name}`" for name in duplicates)
        finding = Finding(
            "predict-column-twice",
            _("the header names {names} more than once", names=names),
            _("remove columns, so that each name has a single column"),
            (location,),
        )
        raise WrightError(finding, exit_code=EXIT_USAGE)


def written(columns: Sequence[str], rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """Return a table as CSV text with a header line; `delimiter` separates the cells."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()
