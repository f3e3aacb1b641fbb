"""A report as one HTML page for screens, phones and paper, light and dark, without scripts or external resources."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from clusterwright.drawing.sheet import Figure, Section, Theme, paragraphs, sheet, table
from clusterwright.i18n import _, bilingual
from clusterwright.monitor.report.report import Report, ReportBar, ReportPart


def page(report: Report) -> str:
    """Render the report as an HTML page with titles in both languages; text is escaped, empty parts are left out."""
    sections = [
        Section(bilingual(part.title), _body(part))
        for part in report.parts
        if part.bars or part.rows or part.lines
    ]
    if report.notes:
        sections.insert(0, Section(bilingual("What to change"), _listed(report.notes)))
    if report.missing:
        sections.append(Section(bilingual("What is not known"), _listed(report.missing)))
    figures = [Figure(figure.value, figure.unit, bilingual(figure.name)) for figure in report.figures]
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return sheet(Theme(bilingual("Report"), style), report.title, figures, sections, footer=report.footer)


def _body(part: ReportPart) -> str:
    html = "".join(f'<div class="bar">{_bar(bar)}</div>' for bar in part.bars)
    if part.rows:
        html += table([_(head) for head in part.heads], part.rows)
    return html + paragraphs(part.lines)


def _bar(bar: ReportBar) -> str:
    name = escape(bar.name)
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
