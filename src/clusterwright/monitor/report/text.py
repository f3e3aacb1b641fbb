"""A report for a terminal without color, in the layout of jobstats."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from textwrap import wrap

from clusterwright.i18n import _, current_language
from clusterwright.monitor.report.report import Report, ReportBar, ReportPart, percent

WIDE, BAR = 80, 48


def text(report: Report, columns: int | None = None) -> str:
    """Render the report as plain text for a terminal of that width; None: for a file, without limit for tables."""
    return "\n".join(_lines(report, columns)) + "\n"


def _lines(report: Report, columns: int | None) -> Iterator[str]:
    width = min(WIDE, columns or WIDE)
    yield "=" * width
    yield _centered(report.title[current_language() == "zh"], width)
    yield "=" * width
    for part in report.parts:
        if part.bars or part.rows or part.lines:
            yield from _part(part, width, columns)
    if report.notes or report.missing:
        yield from _title(_("Notes"), width)
        notes = [("*", note) for note in report.notes]
        for bullet, line in (*notes, *(("-", _("not known: {part}", part=part)) for part in report.missing)):
            yield from wrap(
                line, width, initial_indent=f"  {bullet} ", subsequent_indent="    ", break_long_words=False
            )


def _title(title: str, width: int) -> Iterator[str]:
    yield ""
    yield _centered(title, width)
    yield "=" * width


def _part(part: ReportPart, width: int, columns: int | None) -> Iterator[str]:
    yield from _title(_(part.title), width)
    if part.bars:
        names = [bar.name for bar in part.bars]
        name_width = max(map(wide, names))
        widest = max(8, width - name_width - 6)
        details = max(wide(bar.detail) for bar in part.bars) + 2
        detailed = max(8, min(BAR - 8, widest - details)) if columns else BAR - 8
        yield from (
            _bar(pad(name, name_width), bar, detailed if bar.detail else widest)
            for name, bar in zip(names, part.bars, strict=True)
        )
    if part.rows and not any(part.heads):
        name_width = max(wide(row[0]) for row in part.rows)
        yield from (f"{' ' * (name_width - wide(row[0]))}  {row[0]}: {row[1]}" for row in part.rows)
    elif part.rows:
        rows = list(table(part.heads, part.rows))
        yield from _records(part) if columns and max(map(wide, rows)) > columns else rows
    yield from (f"  {line}" for line in part.lines)


def _bar(name: str, bar: ReportBar, width: int) -> str:
    """Format a bar: `CPU utilization  [|||||          10%]`; `unknown` in it for a ratio of None."""
    if bar.ratio is None:
        return f"  {name}  [{pad('', width - wide(_('unknown')))}{_('unknown')}]  {bar.detail}".rstrip()
    label = percent(bar.ratio)
    bar_width = width - len(label)
    full = "|" * round(bar.ratio * bar_width)
    return f"  {name}  [{full:<{bar_width}}{label}]  {bar.detail}".rstrip()


def _records(part: ReportPart) -> Iterator[str]:
    """Yield the rows of a table that is too wide: the first cell, then a line for each other non-empty cell."""
    for row in part.rows:
        yield f"  {row[0]}"
        cells = zip(part.heads[1:], row[1:], strict=True)
        yield from (f"    {_(head)}: {cell}" if head else f"    {cell}" for head, cell in cells if cell)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield headings and rows, each column as wide as its longest cell."""
    top = [_(head) for head in heads]
    widths = [max(wide(row[index]) for row in (top, *rows)) for index in range(len(top))]
    for row in (top, *rows):
        yield "  " + "  ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()


def wide(label: str) -> int:
    """Return the width of a text in terminal columns; a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in label)


def pad(label: str, width: int) -> str:
    """Pad a text with blanks to a width in terminal columns; a wider one is not cut."""
    return label + " " * (width - wide(label))


def _centered(label: str, width: int) -> str:
    return " " * max(0, (width - wide(label)) // 2) + label
