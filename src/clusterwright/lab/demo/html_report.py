"""Render the demo's page from the Report alone: one file without scripts or external resources."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template

from clusterwright.check.verdict import Verdict
from clusterwright.drawing.html_page import document, responsive_html
from clusterwright.i18n import N_, _, bilingual
from clusterwright.lab.demo.draw.bar import bar, color_class
from clusterwright.lab.demo.draw.cluster import cluster
from clusterwright.lab.demo.draw.curves import curves
from clusterwright.lab.demo.draw.timeline import timeline
from clusterwright.lab.demo.event_metrics import RecoveryPart
from clusterwright.lab.demo.figures import figures
from clusterwright.lab.demo.messages import (
    applied_text,
    footer,
    headline,
    hero,
    loss_text,
    place_text,
    repeat_commands,
)
from clusterwright.lab.demo.report import DemoReport

STATUSES = (N_("ok"), N_("warn"), N_("fail"), N_("unknown"), N_("skipped"))  # of check.verdict


def render_html(report: DemoReport) -> str:
    """Return the HTML page of the demo's report: figures, cluster, timeline, loss curves and how to repeat it."""
    folder = Path(__file__).parent
    english, chinese = headline(report)
    heading = _("The cluster") if report.cluster else _("The machine")
    body = Template((folder / "page.html").read_text()).substitute(
        headline=escape(english),
        headline_zh=escape(chinese),
        problems=_problems(report),
        hero="".join(_big(*row) for row in hero(report)),
        place_title=f"{heading} {_zh(heading)}",
        place_text=escape(place_text(report)),
        place_word="host" if report.mode == "lab" else "rank",
        cluster=responsive_html(lambda width: cluster(report, width)),
        timeline=responsive_html(lambda width: timeline(report, width)),
        recovery=_recovery(report),
        loss_text=escape(loss_text(report)),
        curves=responsive_html(lambda width: curves(report, width)),
        checks=_checks(report),
        figures="".join(_group(name, rows) for name, rows in figures(report)),
        again=escape(repeat_commands(report)),
        footer=escape(footer(report)),
    )
    return document(english, body, style=(folder / "page.css").read_text())


def _zh(english: str) -> str:
    return f'<span lang="zh">{escape(bilingual(english)[1])}</span>'


def _row(name: str, cells: Iterable[str]) -> str:
    return f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>'


def _big(value: str, unit: str, caption: str) -> str:
    named = f"<dt>{escape(_(caption))}<br>{_zh(caption)}</dt>"
    return f"<div>{named}<dd>{escape(value)} <small>{escape(unit)}</small></dd></div>"


def _problems(report: DemoReport) -> str:
    if report.ok:
        return ""
    rows = "".join(f"<li>{escape(problem)}</li>" for problem in report.problems)
    return f'<div class="wrong" role="alert"><strong>Not all of it happened.</strong><ul>{rows}</ul></div>'


def _recovery(report: DemoReport) -> str:
    recovery = report.recovery
    if recovery is None:
        return "<p>No step was done after the fault.</p>"
    drawn = responsive_html(lambda width: bar(recovery, width))
    rows = "".join(_part(part) for part in recovery.parts)
    summary = _(
        "The next step was complete {next_step_seconds:.1f} s after the fault, and the first "
        "new one, beyond step {at_step}, after {seconds:.1f} s. No operator intervened.",
        next_step_seconds=recovery.next_step_seconds,
        at_step=recovery.at_step,
        seconds=recovery.seconds,
    )
    return f'<p>{summary}</p><figure>{drawn}</figure><table class="parts">{rows}</table>'


def _part(part: RecoveryPart) -> str:
    name = f'<i class="{color_class(part.name)}"></i>{escape(part.name)} {_zh(part.name)}'
    seconds = f'<td class="number">{part.seconds:.2f} s</td>'
    return _row(name, (seconds, f'<td class="until">{escape(_(part.until))}</td>'))


def _checks(report: DemoReport) -> str:
    if report.checks is None:
        return ""
    title = f"{_('Proof before the training')} {_zh('Proof before the training')}"
    items = "".join(
        f'<li class="{name if count else "zero"}"><b>{count}</b>{name} {_zh(name)}</li>'
        for name, count in report.checks.items()
    )
    rows = "".join(_verdict(verdict) for verdict in report.checks_not_ok)
    table = f"<table>{rows}</table>" if rows else ""
    return (
        f'<section aria-labelledby="s-checks"><h2 id="s-checks">{title}</h2>'
        f'<p>{escape(applied_text(report))}</p><ul class="counts">{items}</ul>{table}</section>'
    )


def _verdict(verdict: Verdict) -> str:
    cells = (f"<td>{escape(cell)}</td>" for cell in (verdict.subject, verdict.status, verdict.observed))
    return _row(escape(verdict.check), cells)


def _group(name: str, rows: Iterable[tuple[str, str]]) -> str:
    cells = "".join(_row(escape(key), (f"<td>{escape(value)}</td>",)) for key, value in rows)
    return f"<div><h3>{escape(name)}</h3><table>{cells}</table></div>"
