"""`wright plan claims`."""

from __future__ import annotations

from clusterwright.i18n import _


def claims(*, json: bool = False, markdown: bool = False) -> int:
    """Compare the figures of published field guides with the planner: agreement, difference and reason.

    Parameters
    ----------
    json
        Print one JSON document: every claim with its figures, our inputs and the verdict.
    markdown
        Print the page docs/concepts/guides-checked.md.
    """
    from clusterwright.cli._show import show_json, show_table, show_text
    from clusterwright.plan.sizing.claims import checked
    from clusterwright.plan.sizing.claims import markdown_report as pages

    checked_claims = checked()
    if json:
        show_json({"claims": checked_claims})
    elif markdown:
        show_text(pages.render_markdown(checked_claims))
    else:
        rows = [
            (
                claim.row,
                _(claim.verdict),
                claim.statement,
                pages.computed(claim),
                pages.off(claim),
                claim.reason,
            )
            for claim in checked_claims
        ]
        show_table(("row", "verdict", "guide", "computed", "difference", "reason"), rows)
    return 0
