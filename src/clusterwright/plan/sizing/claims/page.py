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


def page(claims: Iterable[Checked]) -> str:
    """The page in Markdown: a table, then a paragraph for each claim."""
    listed = tuple(claims)
    rows = "".join(
        f"| {each.row} | {each.said} | {computed(each)} | {off(each)} | {each.verdict} |\n" for each in listed
    )
    counts = ", ".join(f"{sum(each.verdict is verdict for each in listed)} {verdict}" for verdict in Verdict)
    table = "| row | the guides say | we compute | off by | verdict |\n| --- | --- | --- | --- | --- |\n"
    return f"{HEAD}\n{table}{rows}\n{counts}.\n" + "".join(map(_section, listed))


def computed(each: Checked) -> str:
    """Our figure with its unit."""
    return "" if each.computed is None else f"{_short(each.computed)} {each.unit}"


def off(each: Checked) -> str:
    """How far it is from theirs."""
    return "" if each.off_by is None or each.verdict is Verdict.CANNOT_TELL else f"{each.off_by:+.0%}"


def _section(each: Checked) -> str:
    return f"\n## {each.row}: {each.verdict}\n\n{each.said}.\n\nComputed for: {each.inputs}.\n\n{each.why}\n"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
