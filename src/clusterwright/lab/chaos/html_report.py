"""Render a campaign's page: its figures and the outcome of every fault, from the scores alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from clusterwright.drawing.html_page import document
from clusterwright.i18n import N_, _, bilingual
from clusterwright.lab.chaos.score import Score, summary

# Figure, its label, and the required share.
FIGURES = (
    ("causes_right", N_("correct causes"), 0.95),
    ("finished", N_("recoverable trainings finished"), 1.0),
    ("steps_exact", N_("without lost or repeated steps"), 1.0),
    ("actions_right", N_("correct actions"), None),
    ("detected", N_("detected"), None),
    ("goodput", N_("goodput relative to a run without faults"), None),
)
COLUMNS = (
    "", N_("injected fault"), N_("host"), N_("detected"), N_("training resumed"), N_("cause"), N_("action"),
    N_("steps lost"), N_("in service again"), "",
)  # fmt: skip
STYLE = """
.figures { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; margin: 1.5rem 0 }
.figures dt { font-size: .85rem; opacity: .75 } .figures dd { margin: 0; font-size: 1.8rem }
.missed dd { color: #b3261e } td.no { color: #b3261e; font-weight: 600 } .scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .85rem } td, th { padding: .3rem .6rem; text-align: left }
td, th { vertical-align: top }
tr + tr td { border-top: 1px solid #8884 }
@media (prefers-color-scheme: dark) { .missed dd, td.no { color: #f2b8b5 } }
"""


def render_html(scores: Sequence[Score], seed: int, fault_count: int, machine: str) -> str:
    """Return the HTML page of a campaign's scores.

    `fault_count` is the planned number of faults, `machine` describes the machine.
    """
    totals = summary(scores)
    title = _(
        "Campaign {seed}: {count} of {fault_count} faults",
        seed=seed,
        count=len(scores),
        fault_count=fault_count,
    )
    figures = "".join(_figure(totals, *row) for row in FIGURES)
    harmed = totals["healthy_hosts_taken_out"]
    figures += _tile(str(harmed), *bilingual("healthy hosts drained"), missed=harmed > 0)
    heads = "".join(f"<th>{'<br>'.join(bilingual(name))}</th>" for name in COLUMNS)
    rows = "".join(_row(score) for score in scores)
    body = (
        f"<h1>{escape(title)}</h1><p>{escape(machine)}</p><dl class='figures'>{figures}</dl>"
        f"<div class='scroll'><table><tr>{heads}</tr>{rows}</table></div>"
    )
    return document(title, body, style=STYLE)


def _figure(totals: dict[str, Any], key: str, name: str, goal: float | None) -> str:
    english, chinese = bilingual(name)
    share = totals[key]
    text = "-" if share is None else f"{share:.1%}"
    goal_text = f" (≥ {goal:.0%})" if goal is not None else ""
    return _tile(
        text, english + goal_text, chinese, missed=goal is not None and share is not None and share < goal
    )


def _tile(value: str, english: str, chinese: str, *, missed: bool) -> str:
    kind = " class='missed'" if missed else ""
    return f"<div{kind}><dt>{english}<br>{chinese}</dt><dd>{escape(value)}</dd></div>"


def _row(score: Score) -> str:
    record, kind = score.record, score.planned.kind
    cells = (
        (str(score.planned.number), None),
        ("<br>".join(bilingual(kind.about)), None),
        (record.host or "-", None),
        (_seconds(record.detected_s), score.detected),
        (_seconds(record.progress_s), score.finished),
        (", ".join(record.causes[:2]) or "-", score.cause),
        (", ".join(record.actions) or "-", score.action),
        (_steps(score), score.exact),
        (_seconds(record.back_s), None),
        (", ".join(record.harmed), score.unharmed),
    )
    return "<tr>" + "".join(_cell(text, passed=passed) for text, passed in cells) + "</tr>"


def _cell(text: str, *, passed: bool | None) -> str:
    """Return a table cell with the text escaped, except line breaks, which catalog texts have; marked unless passed."""
    safe = "<br>".join(escape(part) for part in text.split("<br>"))
    return f"<td class='no'>{safe}</td>" if passed is False else f"<td>{safe}</td>"


def _steps(score: Score) -> str:
    record = score.record
    more = [
        f"{count} {label}"
        for count, label in ((record.missing_steps, "missing"), (record.differing_steps, "differ"))
        if count
    ]
    return ", ".join([str(record.lost_steps), *more])


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
