"""Prediction of a whole table: the same table with prediction columns added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from clusterwright.errors import EXIT_USAGE, Finding, Location, WrightError
from clusterwright.i18n import _, _n
from clusterwright.plan.predict import headers, table
from clusterwright.plan.predict.answers import answer, refused
from clusterwright.plan.predict.cells import Cells
from clusterwright.plan.predict.lookup import CatalogLookup
from clusterwright.plan.predict.runs import run_of

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.predict.answers import PredictedAnswer
    from clusterwright.plan.run import Run

_COUNTS = ("num_gpus", "gpus_per_node", "layers", "hidden", "heads")
_PIECE = 500  # rows; a piece takes about a second
Spread: TypeAlias = (
    "Callable[[Callable[[table.Table], list[PredictedAnswer]], Iterable[table.Table]],"
    " Iterator[list[PredictedAnswer]]]"
)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The table with prediction columns as CSV text, with counts, problems and remarks."""

    text: str
    sort: str
    rows: int
    failed: int
    problems: tuple[Finding, ...]  # of rows, each with its location
    remarks: tuple[str, ...]  # warnings


def predict(
    data: bytes, file: str, user_catalog: UserCatalog | None = None, spread: Spread = map
) -> Predicted:
    """Predict every row of a table, or note why not; raises `WrightError` if the table is unusable.

    `spread` maps over pieces of the table like `map`, possibly in several processes.
    """
    source_table = table.read(data, file)
    try:
        sort = headers.sort_of(source_table.columns, file)
    except WrightError as error:
        raise WrightError(
            *error.findings, *_invalid_cells(source_table, file), exit_code=EXIT_USAGE
        ) from error
    pieces = [
        replace(source_table, lines=source_table.lines[start : start + _PIECE])
        for start in range(0, len(source_table.lines), _PIECE)
    ]
    source_columns = [index for index, name in enumerate(source_table.columns) if name not in sort.added]
    out: list[list[str]] = []
    problems: list[Finding] = []
    failed = 0
    answers = (
        result
        for piece in spread(partial(_answers, sort=sort, user_catalog=user_catalog), pieces)
        for result in piece
    )
    for line, result in zip(source_table.lines, answers, strict=True):
        failed += bool(result.problems)
        problems += [_with_location(finding, file, line.number) for finding in result.problems]
        cells = [*line.cells, *[""] * len(source_table.columns)]
        out.append(
            [cells[index] for index in source_columns] + [result.cells.get(name, "") for name in sort.added]
        )
    columns = [source_table.columns[index] for index in source_columns] + list(sort.added)
    text = table.written(columns, out, source_table.delimiter)
    remarks = _remarks(source_table, sort, replaced=len(source_columns) < len(source_table.columns))
    return Predicted(text, sort.name, len(out), failed, tuple(problems), remarks)


def _invalid_cells(source_table: table.Table, file: str) -> Iterator[Finding]:
    """Yield the problems of rows that do not depend on the missing columns: their length, and cells of counts."""
    for line in islice(source_table.lines, _PIECE):
        cells = Cells.from_row(source_table.row(line))
        if finding := _ragged(source_table, line):
            yield _with_location(finding, file, line.number)
        for column in _COUNTS:
            cells.integer(column)
        yield from (_with_location(finding, file, line.number) for finding in cells.problems)


def _answers(
    piece: table.Table, sort: headers.Sort, user_catalog: UserCatalog | None
) -> list[PredictedAnswer]:
    lookup = CatalogLookup(user_catalog)
    return [_row(piece, line, sort, lookup) for line in piece.lines]


def run_at(
    data: bytes, file: str, line: int | None, user_catalog: UserCatalog | None = None
) -> tuple[Run, tuple[str, ...]]:
    """Return the run of the row on this line of a table (None: of its only row), and notes on what was inferred.

    Raises:
        WrightError: explain-no-row: the line has no row, or `line` is None and the table has no or several rows.
    """
    source_table = table.read(data, file)
    matches = [entry for entry in source_table.lines if line in {None, entry.number}]
    if len(matches) != 1:
        message = (
            _("{file} has no row on line {line}", file=file, line=line)
            if line
            else _n("{file} has {count} row", "{file} has {count} rows", len(source_table.lines), file=file)
        )
        fix = _(
            "name the line of the row: --row {file}:{number}",
            file=file,
            number=source_table.lines[0].number if source_table.lines else 2,
        )
        raise WrightError.from_code("explain-no-row", message, fix, exit_code=EXIT_USAGE)
    headers.sort_of(source_table.columns, file)
    return run_of(source_table.row(matches[0]), CatalogLookup(user_catalog))


def _ragged(source_table: table.Table, line: table.TableLine) -> Finding | None:
    """Return the finding about a row whose length differs from the header's; None for others."""
    if len(line.cells) == len(source_table.columns):
        return None
    message = _(
        "the row has {count} cells, the header {expected}",
        count=len(line.cells),
        expected=len(source_table.columns),
    )
    return Finding("predict-ragged-row", message, _("quote cells that contain a comma, and leave none out"))


def _row(
    source_table: table.Table, line: table.TableLine, sort: headers.Sort, lookup: CatalogLookup
) -> PredictedAnswer:
    if finding := _ragged(source_table, line):
        return refused(finding)
    return answer(source_table.row(line), sort, lookup, line.remark)


def _with_location(finding: Finding, file: str, number: int) -> Finding:
    return replace(finding, places=(Location(file, number),))


def _remarks(source_table: table.Table, sort: headers.Sort, *, replaced: bool) -> tuple[str, ...]:
    odd = [(line.number, line.remark) for line in source_table.lines if line.remark]
    remarks = [source_table.remark] if source_table.remark else []
    remarks += [_("line {number}: {remark}", number=number, remark=remark) for number, remark in odd]
    remarks += headers.doubtful(source_table.columns, sort)
    absent = [name for name in sort.used if name not in source_table.columns]
    if absent:
        remarks.append(_("columns not in the header, inferred: {columns}", columns=", ".join(absent)))
    if replaced:
        remarks.append(_("predictions already in the table are replaced"))
    return tuple(remarks)
