"""Render a report page in both languages: a headline, a few large figures, then a section per drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from clusterwright.drawing.html_page import document, responsive_html


@dataclass(frozen=True, slots=True)
class Section:
    """A titled section of the page; `body` is HTML."""

    title: tuple[str, str]  # English, Chinese
    body: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One large figure at the top."""

    value: str
    unit: str
    label: tuple[str, str]  # English, Chinese


@dataclass(frozen=True, slots=True)
class Theme:
    """The common parts of a command's pages: their name in both languages, and their style sheet."""

    brand: tuple[str, str]
    style: str


def sheet(
    theme: Theme,
    headline: tuple[str, str],
    figures: Sequence[Figure],
    sections: Sequence[Section],
    *,
    footer: str = "",
) -> str:
    """Return a page of headline, figures and sections as HTML; escapes every text except a section's body."""
    english, chinese = headline
    brand = f'{escape(theme.brand[0])} · <span lang="zh">{escape(theme.brand[1])}</span>'
    head = (
        f'<header><p class="brand">Clusterwright <span>{brand}</span></p><h1>{escape(english)}</h1>'
        f'<p class="zh" lang="zh">{escape(chinese)}</p>'
        f'<dl class="hero">{"".join(_big(figure) for figure in figures)}</dl></header>'
    )
    body = "".join(_section(number, section) for number, section in enumerate(sections))
    return document(english, f"{head}\n{body}\n<footer><p>{escape(footer)}</p></footer>\n", style=theme.style)


def drawn(drawing: Callable[[float], str], *below: str) -> str:
    """Return an HTML figure with the drawing in both widths, followed by the HTML of `below`."""
    return f"<figure>{responsive_html(drawing)}</figure>{''.join(below)}"


def legend(rows: Iterable[tuple[str, tuple[str, str]]]) -> str:
    """Return the HTML of a color legend from (style class, (English, Chinese)) rows."""
    keys = (
        f'<span><i class="{style}"></i>{escape(pair[0])} <span lang="zh">{escape(pair[1])}</span></span>'
        for style, pair in rows
    )
    return f'<p class="legend key">{" ".join(keys)}</p>'


def paragraphs(lines: Iterable[str]) -> str:
    """Return the texts, escaped, as HTML: one paragraph for each."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table, escaped; the first column is each row's header."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _section(number: int, section: Section) -> str:
    english, chinese = section.title
    title = f'{escape(english)} <span lang="zh">{escape(chinese)}</span>'
    return f'<section aria-labelledby="s-{number}"><h2 id="s-{number}">{title}</h2>{section.body}</section>'


def _big(figure: Figure) -> str:
    english, chinese = figure.label
    named = f'<dt>{escape(english)}<br><span lang="zh">{escape(chinese)}</span></dt>'
    return f"<div>{named}<dd>{escape(figure.value)} <small>{escape(figure.unit)}</small></dd></div>"
