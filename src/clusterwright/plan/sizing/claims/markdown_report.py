"""The verdicts as a page: docs/concepts/guides-checked.md."""

from __future__ import annotations

from collections.abc import Iterable

from clusterwright.plan.sizing.claims.claim import Checked, Verdict

HEAD = """\
<!-- made by `wright plan claims --page`, do not edit -->

# The guides' claims, checked

Field guides on building a training cluster print figures.
This page holds each of them against the planner: what they say, what we compute and for what, and whether we agree.
"Agree" is within 15%, "partly" within a half or with a condition.
Where a claim lacks an input, the page says which input would make it true.
The figures come from the models each time the page is made; the accuracy page says how far those can be trusted.
`wright plan claims` prints the same.
"""


def render_markdown(claims: Iterable[Checked]) -> str:
    """The page in Markdown: a table, then a paragraph for each claim."""
    listed = tuple(claims)
    rows = "".join(
        f"| {claim.row} | {claim.said} | {computed(claim)} | {off(claim)} | {claim.verdict} |\n"
        for claim in listed
    )
    counts = ", ".join(
        f"{sum(claim.verdict is verdict for claim in listed)} {verdict}" for verdict in Verdict
    )
    table = "| row | the guides say | we compute | off by | verdict |\n| --- | --- | --- | --- | --- |\n"
    return f"{HEAD}\n{table}{rows}\n{counts}.\n" + "".join(map(_section, listed))


def computed(claim: Checked) -> str:
    """Our figure with its unit."""
    return "" if claim.computed is None else f"{_short(claim.computed)} {claim.unit}"


def off(claim: Checked) -> str:
    """How far it is from theirs."""
    return "" if claim.off_by is None or claim.verdict is Verdict.CANNOT_TELL else f"{claim.off_by:+.0%}"


def _section(claim: Checked) -> str:
    return f"\n## {claim.row}: {claim.verdict}\n\n{claim.said}.\n\nComputed for: {claim.inputs}.\n\n{claim.why}\n"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
