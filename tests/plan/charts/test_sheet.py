"""A page of the planner stands alone and lets nothing of the user's become markup."""

from clusterwright.drawing.sheet import Figure, Section, table
from clusterwright.plan.charts.sheet import sheet


def test_nothing_is_fetched_and_nothing_runs():
    """The page works without a network: no script, no link to elsewhere."""
    made = sheet(
        ("A plan", "规划"), [Figure("14.6", "s", ("per iteration", "每步"))], [Section(("One", "一"), "<p/>")]
    )

    assert "<script" not in made
    assert "http://" not in made.replace("http://www.w3.org", "")
    assert 'lang="zh">规划' in made


def test_names_of_the_users_are_escaped():
    """A model called <b> stays text."""
    made = sheet(
        ("<b>", "<b>"),
        [Figure("<i>", "", ("<i>", "<i>"))],
        [Section(("<u>", "<u>"), table(["<s>"], [["<s>"]]))],
    )

    assert not any(mark in made for mark in ("<b>", "<i>", "<u>", "<s>"))
