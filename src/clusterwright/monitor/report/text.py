"""A report for a terminal of 80 columns, in the shape that jobstats has; readable without colour."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from textwrap import wrap

from clusterwright.monitor.report.report import Bar, Bilingual, Language, Part, Report, spoken

WIDE, BAR = 80, 48


def text(report: Report, language: Language = "en") -> str:
    """All of it."""
    return "\n".join(_lines(report, language)) + "\n"


def _lines(report: Report, language: Language) -> Iterator[str]:
    yield "=" * WIDE
    yield _centred(spoken(report.title, language))
    yield "=" * WIDE
    for part in report.parts:
        if part.bars or part.rows or part.lines:
            yield from _part(part, language)
    if report.notes or report.missing:
        yield from _title(spoken(("Notes", "说明"), language))
        unknown = spoken(("not known", "未知"), language)
        notes = [("*", spoken(note, language)) for note in report.notes]
        for bullet, line in (*notes, *(("-", f"{unknown}: {reason}") for reason in report.missing)):
            yield from wrap(
                line, WIDE, initial_indent=f"  {bullet} ", subsequent_indent="    ", break_long_words=False
            )


def _title(title: str) -> Iterator[str]:
    yield ""
    yield _centred(title)
    yield "=" * WIDE


def _part(part: Part, language: Language) -> Iterator[str]:
    yield from _title(spoken(part.title, language))
    if part.bars:
        names = [spoken(bar.name, language) for bar in part.bars]
        width = max(map(wide, names))
        yield from (
            _bar(pad(name, width), bar, max(8, WIDE - width - 6) if not bar.detail else BAR - 8)
            for name, bar in zip(names, part.bars, strict=True)
        )
    if part.rows and not any(spoken(head, language) for head in part.heads):
        width = max(wide(row[0]) for row in part.rows)
        yield from (f"{' ' * (width - wide(row[0]))}  {row[0]}: {row[1]}" for row in part.rows)
    elif part.rows:
        yield from table(part.heads, part.rows, language)
    yield from (f"  {spoken(line, language)}" for line in part.lines)


def _bar(name: str, bar: Bar, width: int) -> str:
    """`CPU utilization  [|||||          10%]`."""
    if bar.ratio is None:
        return f"  {name}  [{'unknown':>{width}}]  {bar.detail}".rstrip()
    label = f"{bar.ratio:.1%}" if 0 < bar.ratio < 0.1 else f"{bar.ratio:.0%}"
    bar_width = width - len(label)
    full = "|" * round(bar.ratio * bar_width)
    return f"  {name}  [{full:<{bar_width}}{label}]  {bar.detail}".rstrip()


def table(heads: Sequence[Bilingual], rows: Sequence[Sequence[str]], language: Language) -> Iterator[str]:
    """Columns as wide as what is in them."""
    top = [spoken(head, language) for head in heads]
    widths = [max(wide(row[index]) for row in (top, *rows)) for index in range(len(top))]
    for row in (top, *rows):
        yield "  " + "  ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()


def wide(label: str) -> int:
    """Columns of a terminal: a Chinese sign takes two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in label)


def pad(label: str, width: int) -> str:
    """With blanks up to a width."""
    return label + " " * (width - wide(label))


def _centred(label: str) -> str:
    return " " * max(0, (WIDE - wide(label)) // 2) + label
