"""A report as one page: light and dark, desk, phone and paper; no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from clusterwright.drawing.sheet import Figure, Section, Theme, paragraphs, sheet, table
from clusterwright.monitor.report.report import Bar, Language, Part, Report, spoken


def page(report: Report, language: Language = "en") -> str:
    """The whole page as HTML; all that comes from users is escaped."""
    sections = [
        Section(part.title, _body(part, language))
        for part in report.parts
        if part.bars or part.rows or part.lines
    ]
    notes = [spoken(note, language) for note in report.notes]
    if notes:
        sections.insert(0, Section(("What to change", "建议"), _listed(notes)))
    if report.missing:
        sections.append(Section(("What is not known", "未知项"), _listed(report.missing)))
    figures = [Figure(figure.value, figure.unit, figure.name) for figure in report.figures]
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return sheet(Theme(("Report", "报告"), style), report.title, figures, sections, footer=report.footer)


def _body(part: Part, language: Language) -> str:
    html = ""
    if part.bars:
        html += "".join(f'<div class="bar">{_bar(bar, language)}</div>' for bar in part.bars)
    if part.rows:
        html += table([spoken(head, language) for head in part.heads], part.rows)
    return html + paragraphs(spoken(text, language) for text in part.lines)


def _bar(bar: Bar, language: Language) -> str:
    name = escape(spoken(bar.name, language))
    if bar.ratio is None:
        return (
            f'<span class="name">{name}</span><span class="track unknown"></span><span class="said">?</span>'
        )
    percent = f"{bar.ratio:.1%}"
    label = escape(f"{percent} · {bar.detail}" if bar.detail else percent)
    track = (
        f'<span class="track" role="img" aria-label="{percent}"><i style="width:{bar.ratio:.1%}"></i></span>'
    )
    return f'<span class="name">{name}</span>{track}<span class="said">{label}</span>'


def _listed(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
