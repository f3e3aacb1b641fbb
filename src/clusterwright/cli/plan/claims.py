"""`wright plan claims`."""

from __future__ import annotations


def claims(*, json: bool = False, page: bool = False) -> int:
    """Hold the field guides' own figures against the planner: agree, disagree, by how much, and why.

    Parameters
    ----------
    json
        One JSON document: every claim with its figures, our inputs and the verdict.
    page
        The page docs/concepts/guides-checked.md, in Markdown.
    """
    from clusterwright.cli._show import show_json, show_table, show_text
    from clusterwright.plan.sizing.claims import checked
    from clusterwright.plan.sizing.claims import page as pages

    found = checked()
    if json:
        show_json({"claims": found})
    elif page:
        show_text(pages.page(found))
    else:
        rows = [
            (each.row, each.verdict, each.said, pages.computed(each), pages.off(each), each.why)
            for each in found
        ]
        show_table(("row", "verdict", "the guides say", "we compute", "off by", "why"), rows)
    return 0
