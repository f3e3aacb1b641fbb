"""A whole table in, the same table with predictions out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from clusterwright.errors import EXIT_USAGE, Finding, Place, WrightError
from clusterwright.plan.predict import headers, table
from clusterwright.plan.predict.answers import answer, refused
from clusterwright.plan.predict.known import Known
from clusterwright.plan.predict.runs import run_of

if TYPE_CHECKING:
    from clusterwright.catalog.own import Own
    from clusterwright.plan.predict.answers import Answer
    from clusterwright.plan.run import Run

_PIECE = 500  # rows; a piece takes about a second
Spread: TypeAlias = (
    "Callable[[Callable[[table.Table], list[Answer]], Iterable[table.Table]], Iterator[list[Answer]]]"
)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The table with its added columns as CSV text, and what is to be said about it."""

    text: str
    sort: str
    rows: int
    failed: int
    problems: tuple[Finding, ...]  # of rows, each with its place
    remarks: tuple[str, ...]  # that stop nothing


def predict(data: bytes, file: str, own: Own | None = None, spread: Spread = map) -> Predicted:
    """Every row of the table, predicted or refused; raises `WrightError` where it is no usable table.

    `spread` maps over pieces of the table, as `map` does, and may do so in many processes.
    """
    came = table.read(data, file)
    sort = headers.sort_of(came.columns, file)
    pieces = [replace(came, lines=came.lines[at : at + _PIECE]) for at in range(0, len(came.lines), _PIECE)]
    kept = [place for place, name in enumerate(came.columns) if name not in sort.added]
    out: list[list[str]] = []
    problems: list[Finding] = []
    failed = 0
    answers = (said for piece in spread(partial(_answers, sort=sort, own=own), pieces) for said in piece)
    for line, said in zip(came.lines, answers, strict=True):
        failed += bool(said.problems)
        problems += [_at(each, file, line.number) for each in said.problems]
        cells = [*line.cells, *[""] * len(came.columns)]
        out.append([cells[place] for place in kept] + [said.cells.get(name, "") for name in sort.added])
    columns = [came.columns[place] for place in kept] + list(sort.added)
    text = table.written(columns, out, came.delimiter)
    remarks = _remarks(came, sort, replaced=len(kept) < len(came.columns))
    return Predicted(text, sort.name, len(out), failed, tuple(problems), remarks)


def _answers(piece: table.Table, sort: headers.Sort, own: Own | None) -> list[Answer]:
    known = Known(own)
    return [_row(piece, line, sort, known) for line in piece.lines]


def run_at(data: bytes, file: str, line: int | None, own: Own | None = None) -> tuple[Run, tuple[str, ...]]:
    """The run of the row on that line of a table, and what was inferred; of the only row, where none is named."""
    came = table.read(data, file)
    found = [each for each in came.lines if line in {None, each.number}]
    if len(found) != 1:
        message = f"{file} has no row on line {line}" if line else f"{file} has {len(came.lines)} rows"
        mend = f"name the line of the row: --row {file}:{came.lines[0].number if came.lines else 2}"
        raise WrightError.of("explain-no-row", message, mend, exit_code=EXIT_USAGE)
    return run_of(came.row(found[0]), Known(own))


def _row(came: table.Table, line: table.Line, sort: headers.Sort, known: Known) -> Answer:
    if len(line.cells) != len(came.columns):
        message = f"the row has {len(line.cells)} cells, the header {len(came.columns)}"
        mend = "quote cells that hold a comma, and leave none out"
        return refused(Finding("predict-ragged-row", message, mend))
    return answer(came.row(line), sort, known, line.remark)


def _at(finding: Finding, file: str, number: int) -> Finding:
    return replace(finding, places=(Place(file, number),))


def _remarks(came: table.Table, sort: headers.Sort, *, replaced: bool) -> tuple[str, ...]:
    odd = [(line.number, line.remark) for line in came.lines if line.remark]
    said = [came.remark] if came.remark else []
    said += [f"line {number}: {remark}" for number, remark in odd]
    said += headers.doubtful(came.columns, sort)
    absent = [name for name in sort.used if name not in came.columns]
    if absent:
        said.append(f"not in the header, and inferred: {', '.join(absent)}")
    if replaced:
        said.append("predictions that were in the table are replaced")
    return tuple(said)
