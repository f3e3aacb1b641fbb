"""A report for a terminal of 80 columns without color, in the layout of jobstats."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from textwrap import wrap

from clusterwright.i18n import _, current_language
from clusterwright.monitor.report.report import Report, ReportBar, ReportPart, percent

WIDE, BAR = 80, 48


def text(report: Report) -> str:
    """Render the report as plain text."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield "=" * WIDE
    yield _centered(report.title[current_language() == "zh"])
    yield "=" * WIDE
    for part in report.parts:
        if part.bars or part.rows or part.lines:
            yield from _part(part)
    if report.notes or report.missing:
        yield from _title(_("Notes"))
        notes = [("*", note) for note in report.notes]
        for bullet, line in (*notes, *(("-", _("not known: {part}", part=part)) for part in report.missing)):
            yield from wrap(
                line, WIDE, initial_indent=f"  {bullet} ", subsequent_indent="    ", break_long_words=False
            )


def _title(title: str) -> Iterator[str]:
    yield ""
    yield _centered(title)
    yield "=" * WIDE


def _part(part: ReportPart) -> Iterator[str]:
    yield from _title(_(part.title))
    if part.bars:
        names = [bar.name for bar in part.bars]
        width = max(map(wide, names))
        yield from (
            _bar(pad(name, width), bar, max(8, WIDE - width - 6) if not bar.detail else BAR - 8)
            for name, bar in zip(names, part.bars, strict=True)
        )
    if part.rows and not any(part.heads):
        width = max(wide(row[0]) for row in part.rows)
        yield from (f"{' ' * (width - wide(row[0]))}  {row[0]}: {row[1]}" for row in part.rows)
    elif part.rows:
        yield from table(part.heads, part.rows)
    yield from (f"  {line}" for line in part.lines)


def _bar(name: str, bar: ReportBar, width: int) -> str:
    """Format a bar: `CPU utilization  [|||||          10%]`."""
    if bar.ratio is None:
        return f"  {name}  [{pad('', width - wide(_('unknown')))}{_('unknown')}]  {bar.detail}".rstrip()
    label = percent(bar.ratio)
    bar_width = width - len(label)
    full = "|" * round(bar.ratio * bar_width)
    return f"  {name}  [{full:<{bar_width}}{label}]  {bar.detail}".rstrip()


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
    """Pad a text with blanks to a width in terminal columns."""
    return label + " " * (width - wide(label))


def _centered(label: str) -> str:
    return " " * max(0, (WIDE - wide(label)) // 2) + label
