"""The acceptance page: result, drawing of the cluster, problems and who fixes them, all verdicts, signatures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from clusterwright.check.folding import folded
from clusterwright.check.report.drawing import STATUS_LABELS, cluster, is_small, style
from clusterwright.check.report.findings import Findings, contact
from clusterwright.check.verdict import Status, Verdict
from clusterwright.drawing.sheet import Figure, Section, Theme, drawn, legend, paragraphs, sheet, table
from clusterwright.i18n import N_, _, _n, bilingual

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
_LAB = N_(
    "This cluster is a lab: hosts are virtual and GPUs are simulated. The page proves nothing about hardware."
)
_TILES = N_("Each tile is a host with, from top to bottom, its links, its GPUs, and its disks and folders.")
_SQUARES = N_("Each square is a host, in the color of the worst verdict on it or its parts.")
_NO_BENCH = N_(
    "No benchmark ran: these values were read, not measured. Run `wright bench network` to measure."
)
_GREEN = N_("Only green is verified. An unknown verdict is a value that could not be read: do not accept it.")


def render_page(findings: Findings, networks: Sequence[str]) -> str:
    """Return the acceptance report as self-contained HTML: cluster, problems, all verdicts and a place to sign."""
    parts = [
        Section(
            bilingual("The cluster"),
            drawn(lambda width: cluster(findings, width), _key(), paragraphs(_how(findings))),
        ),
        Section(bilingual("Problems and who fixes them"), _wrong(findings, networks)),
        Section(bilingual("Expected and observed"), _all(findings)),
        Section(bilingual("Acceptance"), _sign()),
    ]
    footer = _(
        "{cluster}, {checked_at}, clusterwright {version}. {lab}",
        cluster=findings.cluster,
        checked_at=findings.checked_at,
        version=findings.version,
        lab=_(_LAB) if findings.is_lab else "",
    )
    return sheet(_THEME, _headline(findings), _figures(findings), parts, footer=footer.strip())


def _how(findings: Findings) -> tuple[str, ...]:
    return (_(_TILES if is_small(findings) else _SQUARES), _(_GREEN))


def _headline(findings: Findings) -> tuple[str, str]:
    if findings.passed:
        return bilingual("{cluster} matches the cluster file", cluster=findings.cluster)
    if failed := findings.counts[Status.FAIL]:
        return bilingual(
            "{cluster} is not ready; failed checks: {count}", cluster=findings.cluster, count=failed
        )
    unknown = findings.counts[Status.UNKNOWN]
    return bilingual("{cluster}: checks without a result: {count}", cluster=findings.cluster, count=unknown)


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
        return paragraphs([_("No problems: no check failed, warned or is unknown.")])
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
    return table((_("where"), _("status"), _("observed"), _("expected"), _("fix"), _("contact")), rows)


def _all(findings: Findings) -> str:
    rows = [
        (verdict.check, verdict.status, _location(verdict), verdict.observed, verdict.expected)
        for verdict in folded(findings.verdicts)
    ]
    bench_notes = paragraphs(findings.benches or [_(_NO_BENCH)])
    summary = _n(
        "{count} verdict",
        "{count} verdicts; one row for equal verdicts of several hosts",
        len(findings.verdicts),
    )
    cells = table((_("check"), _("status"), _("where"), _("observed"), _("expected")), rows)
    return f"{bench_notes}<details open><summary>{escape(summary)}</summary>{cells}</details>"


def _location(verdict: Verdict) -> str:
    return f"{verdict.subject}, {verdict.part}" if verdict.part else verdict.subject


def _sign() -> str:
    fields = (_("For the supplier, date"), _("For the buyer, date"))
    return f'<div class="sign">{"".join(f"<div>{escape(field)}</div>" for field in fields)}</div>'
