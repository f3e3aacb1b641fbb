"""A page of the planner: one headline, a few big figures, then a section per picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from clusterwright.drawing.page import both, document
from clusterwright.plan.page.words import SAID

_STYLE = """
.ideal-line { fill: none; stroke: var(--soft); stroke-width: 1.4; stroke-dasharray: 5 5; }
.range { fill: var(--train); opacity: .14; }
.band { fill: var(--red); opacity: .08; }
.fault-line { stroke: var(--red); stroke-width: 1.6; } .fault-text { fill: var(--red); font-weight: 700; }
.new-line { stroke: var(--green); stroke-width: 1.6; } .new-text { fill: var(--green); font-weight: 700; }
.progress { fill: none; stroke: var(--train); stroke-width: 2.4; stroke-linejoin: round; }
.rented-line { fill: none; stroke: var(--start); stroke-width: 2.4; }
.checkpoint { fill: var(--card); stroke: var(--train); stroke-width: 1.6; }
.training { fill: var(--train); }
.dot-of { fill: var(--train); opacity: .55; }
.dot-of.f0 { fill: var(--p5); } .dot-of.f1 { fill: var(--p2); } .dot-of.f2 { fill: var(--p4); }
.dot-of.f3 { fill: var(--p0); } .dot-of.f4 { fill: var(--p6); } .dot-of.f5 { fill: var(--p3); }
.best-ring { fill: none; stroke: var(--green); stroke-width: 2.4; }
.place, .host-name { font-weight: 600; } .said { font-size: 12px; }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 7px; }
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of the page; `body` is HTML."""

    title: tuple[str, str]  # English, Chinese
    body: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One big figure on top."""

    value: str
    unit: str
    said: tuple[str, str]  # English, Chinese


def sheet(
    headline: tuple[str, str], figures: Sequence[Figure], sections: Sequence[Section], *, footer: str = ""
) -> str:
    """The whole page as HTML; every text of the caller's but a section's body is escaped here."""
    english, chinese = headline
    brand = f'{escape(SAID["brand"][0])} · <span lang="zh">{escape(SAID["brand"][1])}</span>'
    head = (
        f'<header><p class="brand">Clusterwright <span>{brand}</span></p><h1>{escape(english)}</h1>'
        f'<p class="zh" lang="zh">{escape(chinese)}</p>'
        f'<dl class="hero">{"".join(_big(one) for one in figures)}</dl></header>'
    )
    body = "".join(_section(number, one) for number, one in enumerate(sections))
    return document(english, f"{head}\n{body}\n<footer><p>{escape(footer)}</p></footer>\n", style=_STYLE)


def drawn(drawing: Callable[[float], str], *below: str) -> str:
    """A drawing for desk and phone, and HTML beneath it."""
    return f"<figure>{both(drawing)}</figure>{''.join(below)}"


def legend(rows: Iterable[tuple[str, tuple[str, str]]]) -> str:
    """A key: (style class, (English, Chinese)) per colour."""
    keys = (
        f'<span><i class="{style}"></i>{escape(pair[0])} <span lang="zh">{escape(pair[1])}</span></span>'
        for style, pair in rows
    )
    return f'<p class="legend key">{" ".join(keys)}</p>'


def paragraphs(lines: Iterable[str]) -> str:
    """A paragraph per text."""
    return "".join(f"<p>{escape(one)}</p>" for one in lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A plain table; the first column names the row."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _section(number: int, one: Section) -> str:
    english, chinese = one.title
    title = f'{escape(english)} <span lang="zh">{escape(chinese)}</span>'
    return f'<section aria-labelledby="s-{number}"><h2 id="s-{number}">{title}</h2>{one.body}</section>'


def _big(one: Figure) -> str:
    english, chinese = one.said
    named = f'<dt>{escape(english)}<br><span lang="zh">{escape(chinese)}</span></dt>'
    return f"<div>{named}<dd>{escape(one.value)} <small>{escape(one.unit)}</small></dd></div>"
