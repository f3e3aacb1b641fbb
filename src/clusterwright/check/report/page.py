"""The page: passed or not, the cluster drawn, what is wrong and who mends it, what was measured, a line to sign."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from clusterwright.check.folding import folded
from clusterwright.check.report.drawing import WORDS, cluster, is_small, style
from clusterwright.check.report.findings import Findings, call
from clusterwright.check.verdict import Status, Verdict
from clusterwright.drawing.sheet import Figure, Look, Section, drawn, legend, paragraphs, sheet, table

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
_LOOK = Look(("Acceptance", "验收"), _STYLE)
_LAB = "A lab: hosts are virtual and GPUs are simulated. This page proves nothing about hardware."
_TILES = "A tile is a host; in it, from above: its links, its GPUs, its disks and folders."
_SQUARES = "A square is a host, in the colour of the worst that was found on it or any of its parts."
_NOT_MEASURED = "No bench was run: what is here was read, not measured (wright bench network FILE)."
_GREEN = "Only green is as wanted: what could not be seen is unknown, and nobody should sign for it."


def page(found: Findings, networks: Sequence[str]) -> str:
    """The whole page as HTML; it needs nothing beside it."""
    parts = [
        Section(
            ("The cluster", "集群"),
            drawn(lambda width: cluster(found, width), _key(), paragraphs(_how(found))),
        ),
        Section(("What is wrong, and who mends it", "问题与负责方"), _wrong(found, networks)),
        Section(("What was expected, and what was seen", "预期与实测"), _all(found)),
        Section(("Accepted", "签收"), _sign()),
    ]
    footer = f"{found.cluster}, {found.taken}, clusterwright {found.version}. {_LAB if found.is_lab else ''}"
    return sheet(_LOOK, _headline(found), _figures(found), parts, footer=footer.strip())


def _how(found: Findings) -> tuple[str, ...]:
    return (_TILES if is_small(found) else _SQUARES, _GREEN)


def _headline(found: Findings) -> tuple[str, str]:
    if found.passed:
        return f"{found.cluster} is as the file wants it", f"{found.cluster} 符合配置"
    bad = found.counts[Status.FAIL]
    if bad:
        return f"{found.cluster} is not ready: {bad} checks fail", f"{found.cluster} 未达标: {bad} 项不合格"
    unseen = found.counts[Status.UNKNOWN]
    return f"{found.cluster}: {unseen} checks could not be made", f"{found.cluster}: {unseen} 项无法检测"


def _figures(found: Findings) -> list[Figure]:
    return [
        Figure(str(found.counts[status]), "", WORDS[status])
        for status in (Status.OK, Status.WARN, Status.FAIL, Status.UNKNOWN)
    ]


def _key() -> str:
    return legend((style(status), said) for status, said in WORDS.items())


def _wrong(found: Findings, networks: Sequence[str]) -> str:
    bad = [each for each in folded(found.verdicts) if each.status not in (Status.OK, Status.SKIPPED)]
    if not bad:
        return paragraphs(["Nothing: no check failed, warned or was blind."])
    rows = [(_where(each), each.status, each.saw, each.want, each.mend, call(each, networks)) for each in bad]
    return table(("where", "status", "seen", "expected", "mend", "who"), rows)


def _all(found: Findings) -> str:
    rows = [(each.check, each.status, _where(each), each.saw, each.want) for each in folded(found.verdicts)]
    measured = paragraphs(found.benches or [_NOT_MEASURED])
    many = f"<summary>{len(found.verdicts)} verdicts, equal ones together</summary>"
    return f"{measured}<details open>{many}{table(('check', 'status', 'where', 'seen', 'expected'), rows)}</details>"


def _where(each: Verdict) -> str:
    return f"{each.subject}, {each.part}" if each.part else each.subject


def _sign() -> str:
    fields = ("For the supplier, date", "For the buyer, date")
    return f'<div class="sign">{"".join(f"<div>{escape(field)}</div>" for field in fields)}</div>'
