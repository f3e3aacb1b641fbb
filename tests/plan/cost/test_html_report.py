"""The picture of a cost."""

import re

import pytest

from clusterwright.plan.cost.html_report import lines, render_html
from clusterwright.plan.cost.rented import Fleet
from clusterwright.plan.cost.report import costs


@pytest.fixture(scope="module")
def found(inputs):
    """Four servers, 5000 hours."""
    return costs(inputs, Fleet(4, 32), 5000)


def test_the_lines_are_the_years(found):
    """Each at the hours that were asked."""
    for line, way in zip(lines(found), found.options, strict=True):
        assert line.cost(found.hours) == pytest.approx(way.a_year)


def test_the_page_stands_alone_in_both_languages(found, inputs):
    """Nothing is fetched; every input is there."""
    made = render_html(found, inputs, "USD", "4 x <server>")

    assert not re.search(r"(src|href)=.?https?:", made)
    assert "规划" in made
    assert "&lt;server&gt;" in made
    assert all(name in made for name in inputs)
