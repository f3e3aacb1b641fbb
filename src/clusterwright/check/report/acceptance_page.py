"""The page: passed or not, the cluster drawn, what is wrong and who fixes it, what was measured, a line to sign."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from clusterwright.check.folding import folded
from clusterwright.check.report.drawing import STATUS_LABELS, cluster, is_small, style
from clusterwright.check.report.findings import Findings, contact
from clusterwright.check.verdict import Status, Verdict
from clusterwright.drawing.sheet import Figure, Section, Theme, drawn, legend, paragraphs, sheet, table

_STYLE = """
.tile { stroke-width: 1.6; fill: var(--card); } .part { stroke-width: 0; }
.is-ok { --is: var(--green); } .is-warn { --is: var(--start); } .is-fail { --is: var(--red); }
.is-unknown { --is: var(--p6); } .is-skipped { --is: var(--wait); }
.tile { stroke: var(--is); } .part { fill: var(--is); } .key i { background: var(--is); }
.tile.is-fail { fill: var(--red-soft); } .tile.is-unknown { stroke-dasharray: 5 3; }
.host-name { font-weight: 600; }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 7px; }
.sign { display: grid; grid-template-columns: 1fr 1fr; gap: 34px; margin-top: 34px; }
.sign div { border-top: 1px solid var(--ink); padding-top: 6px; color: var(--soft); }
"""
_THEME = Theme(("Acceptance", "验收"), _STYLE)
_LAB = "A lab: hosts are virtual and GPUs are simulated. This page proves nothing about hardware."
_TILES = "A tile is a host; in it, from above: its links, its GPUs, its disks and folders."
_SQUARES = "A square is a host, in the colour of the worst that was found on it or any of its parts."
_NO_BENCH = "No bench was run: what is here was read, not measured (wright bench network FILE)."
_GREEN = "Only green is as wanted: what could not be seen is unknown, and nobody should sign for it."


def render_page(findings: Findings, networks: Sequence[str]) -> str:
    """The whole page as HTML; it needs nothing beside it."""
    parts = [
        Section(
            ("The cluster", "集群"),
            drawn(lambda width: cluster(findings, width), _key(), paragraphs(_how(findings))),
        ),
        Section(("What is wrong, and who fixes it", "问题与负责方"), _wrong(findings, networks)),
        Section(("What was expected, and what was seen", "预期与实测"), _all(findings)),
        Section(("Accepted", "签收"), _sign()),
    ]
    footer = (
        f"{findings.cluster}, {findings.checked_at}, clusterwright "
        f"{findings.version}. {_LAB if findings.is_lab else ''}"
    )
    return sheet(_THEME, _headline(findings), _figures(findings), parts, footer=footer.strip())


def _how(findings: Findings) -> tuple[str, ...]:
    return (_TILES if is_small(findings) else _SQUARES, _GREEN)


def _headline(findings: Findings) -> tuple[str, str]:
    if findings.passed:
        return f"{findings.cluster} is as the file wants it", f"{findings.cluster} 符合配置"
    bad = findings.counts[Status.FAIL]
    if bad:
        return (
            f"{findings.cluster} is not ready: {bad} checks fail",
            f"{findings.cluster} 未达标: {bad} 项不合格",
        )
    unseen = findings.counts[Status.UNKNOWN]
    return (
        f"{findings.cluster}: {unseen} checks could not be made",
        f"{findings.cluster}: {unseen} 项无法检测",
    )


def _figures(findings: Findings) -> list[Figure]:
    return [
        Figure(str(findings.counts[status]), "", STATUS_LABELS[status])
        for status in (Status.OK, Status.WARN, Status.FAIL, Status.UNKNOWN)
    ]


def _key() -> str:
    return legend((style(status), labels) for status, labels in STATUS_LABELS.items())


def _wrong(findings: Findings, networks: Sequence[str]) -> str:
    bad = [
        verdict for verdict in folded(findings.verdicts) if verdict.status not in (Status.OK, Status.SKIPPED)
    ]
    if not bad:
        return paragraphs(["Nothing: no check failed, warned or was blind."])
    rows = [
        (
            _location(verdict),
            verdict.status,
            verdict.observed,
            verdict.expected,
            verdict.fix,
            contact(verdict, networks),
        )
        for verdict in bad
    ]
    return table(("where", "status", "seen", "expected", "fix", "who"), rows)


def _all(findings: Findings) -> str:
    rows = [
        (verdict.check, verdict.status, _location(verdict), verdict.observed, verdict.expected)
        for verdict in folded(findings.verdicts)
    ]
    bench_notes = paragraphs(findings.benches or [_NO_BENCH])
    summary = f"<summary>{len(findings.verdicts)} verdicts, equal ones together</summary>"
    return (
        f"{bench_notes}<details "
        f"open>{summary}{table(('check', 'status', 'where', 'seen', 'expected'), rows)}</details>"
    )


def _location(verdict: Verdict) -> str:
    return f"{verdict.subject}, {verdict.part}" if verdict.part else verdict.subject


def _sign() -> str:
    fields = ("For the supplier, date", "For the buyer, date")
    return f'<div class="sign">{"".join(f"<div>{escape(field)}</div>" for field in fields)}</div>'
