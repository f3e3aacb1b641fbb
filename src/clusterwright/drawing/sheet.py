"""A page of figures: one headline, a few big numbers, then a section per picture, in both languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from clusterwright.drawing.page import both, document


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


@dataclass(frozen=True, slots=True)
class Look:
    """What the pages of one command have in common: their name in both languages, and a style sheet of their own."""

    brand: tuple[str, str]
    style: str


def sheet(
    look: Look,
    headline: tuple[str, str],
    figures: Sequence[Figure],
    sections: Sequence[Section],
    *,
    footer: str = "",
) -> str:
    """The whole page as HTML; every text of the caller's but a section's body is escaped here."""
    english, chinese = headline
    brand = f'{escape(look.brand[0])} · <span lang="zh">{escape(look.brand[1])}</span>'
    head = (
        f'<header><p class="brand">Clusterwright <span>{brand}</span></p><h1>{escape(english)}</h1>'
        f'<p class="zh" lang="zh">{escape(chinese)}</p>'
        f'<dl class="hero">{"".join(_big(one) for one in figures)}</dl></header>'
    )
    body = "".join(_section(number, one) for number, one in enumerate(sections))
    return document(english, f"{head}\n{body}\n<footer><p>{escape(footer)}</p></footer>\n", style=look.style)


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
