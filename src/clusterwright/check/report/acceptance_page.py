"""The page: passed or not, the cluster drawn, what is wrong and who fixes it, what was measured, a line to sign."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from clusterwright.check.folding import folded
from clusterwright.check.report.drawing import STATUS_LABELS, cluster, is_small, style
from clusterwright.check.report.findings import Findings, contact
from clusterwright.check.verdict import Status, Verdict
from clusterwright.drawing.sheet import Figure, Section, Theme, drawn, legend, paragraphs, sheet, table
from clusterwright.i18n import N_, _, bilingual

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
_THEME = Theme(bilingual("Acceptance"), _STYLE)
_LAB = N_("A lab: hosts are virtual and GPUs are simulated. This page proves nothing about hardware.")
_TILES = N_("A tile is a host; in it, from above: its links, its GPUs, its disks and folders.")
_SQUARES = N_("A square is a host, in the colour of the worst that was found on it or any of its parts.")
_NO_BENCH = N_("No bench was run: what is here was read, not measured (wright bench network FILE).")
_GREEN = N_("Only green is as wanted: what could not be seen is unknown, and nobody should sign for it.")


def render_page(findings: Findings, networks: Sequence[str]) -> str:
    """The whole page as HTML; it needs nothing beside it."""
    parts = [
        Section(
            bilingual(_("The cluster")),
            drawn(lambda width: cluster(findings, width), _key(), paragraphs(_how(findings))),
        ),
        Section(bilingual(_("What is wrong, and who fixes it")), _wrong(findings, networks)),
        Section(bilingual(_("What was expected, and what was seen")), _all(findings)),
        Section(bilingual("Accepted"), _sign()),
    ]
    footer = _(
        "{cluster}, {checked_at}, clusterwright {version}. {lab}",
        cluster=findings.cluster,
        checked_at=findings.checked_at,
        version=findings.version,
        lab=_LAB if findings.is_lab else "",
    )
    return sheet(_THEME, _headline(findings), _figures(findings), parts, footer=footer.strip())


def _how(findings: Findings) -> tuple[str, ...]:
    return (_TILES if is_small(findings) else _SQUARES, _GREEN)


def _headline(findings: Findings) -> tuple[str, str]:
    if findings.passed:
        return bilingual(_("{cluster} matches the cluster file"), cluster=findings.cluster)
    if failed := findings.counts[Status.FAIL]:
        return bilingual(
            _("{cluster} is not ready; failed checks: {count}"), cluster=findings.cluster, count=failed
        )
    unknown = findings.counts[Status.UNKNOWN]
    return bilingual(
        _("{cluster}: checks without a result: {count}"), cluster=findings.cluster, count=unknown
    )


def _figures(findings: Findings) -> list[Figure]:
    return [
        Figure(str(findings.counts[status]), "", bilingual(STATUS_LABELS[status]))
        for status in (Status.OK, Status.WARN, Status.FAIL, Status.UNKNOWN)
    ]


def _key() -> str:
    return legend((style(status), bilingual(label)) for status, label in STATUS_LABELS.items())


def _wrong(findings: Findings, networks: Sequence[str]) -> str:
    bad = [
        verdict for verdict in folded(findings.verdicts) if verdict.status not in (Status.OK, Status.SKIPPED)
    ]
    if not bad:
        return paragraphs([_("Nothing: no check failed, warned or was blind.")])
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
    fields = (_("For the supplier, date"), _("For the buyer, date"))
    return f'<div class="sign">{"".join(f"<div>{escape(field)}</div>" for field in fields)}</div>'
