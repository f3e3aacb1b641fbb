"""The page of a campaign: its figures, and every fault with what became of it; drawn from the scores alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from clusterwright.drawing.html_page import document
from clusterwright.i18n import _
from clusterwright.lab.chaos.score import Score, summary

# Figure, its name in both languages, and what it is to reach.
FIGURES = (
    ("causes_right", "causes right", "原因判断正确", 0.95),
    ("finished", "trainings finished that could", "可完成的训练均已完成", 1.0),
    ("steps_exact", "without a lost or doubled step", "步骤无丢失、无重复", 1.0),
    ("actions_right", "actions right", "处置正确", None),
    ("detected", "noticed", "已发现", None),
    ("goodput", "goodput against the undisturbed", "与无故障相比的有效率", None),
)
COLUMNS = (
    ("", ""), ("fault", "故障"), ("host", "主机"), ("noticed", "发现"), ("training again", "恢复训练"),
    ("cause", "原因"), ("done", "处置"), ("steps lost", "丢失步数"), ("in service again", "重新服役"), ("", ""),
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
    """The whole page; `fault_count` faults were to be planted, `machine` says what all this ran on."""
    totals = summary(scores)
    title = _(
        "Campaign {seed}: {count} of {fault_count} faults",
        seed=seed,
        count=len(scores),
        fault_count=fault_count,
    )
    figures = "".join(_figure(totals, *row) for row in FIGURES)
    harmed = totals["healthy_hosts_taken_out"]
    figures += _tile(str(harmed), "healthy hosts taken out", "误伤的健康主机", missed=harmed > 0)
    heads = "".join(f"<th>{english}<br>{chinese}</th>" for english, chinese in COLUMNS)
    rows = "".join(_row(score) for score in scores)
    body = (
        f"<h1>{escape(title)}</h1><p>{escape(machine)}</p><dl class='figures'>{figures}</dl>"
        f"<div class='scroll'><table><tr>{heads}</tr>{rows}</table></div>"
    )
    return document(title, body, style=STYLE)


def _figure(totals: dict[str, Any], key: str, english: str, chinese: str, goal: float | None) -> str:
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
    record, kind = score.seen, score.planned.kind
    cells = (
        (str(score.planned.number), None),
        (f"{kind.about}<br>{kind.about_zh}", None),
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
    """Words of the catalogue hold a line break; all else is a host's, and is escaped."""
    safe = "<br>".join(escape(part) for part in text.split("<br>"))
    return f"<td class='no'>{safe}</td>" if passed is False else f"<td>{safe}</td>"


def _steps(score: Score) -> str:
    record = score.seen
    more = [
        f"{count} {label}"
        for count, label in ((record.missing, "missing"), (record.twice, "differ"))
        if count
    ]
    return ", ".join([str(record.lost), *more])


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
