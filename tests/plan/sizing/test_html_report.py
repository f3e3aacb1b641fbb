"""The pictures of a size."""

import re

from clusterwright.catalog import gpu as gpu_of
from clusterwright.plan.sizing.answer import Sharing, for_deadline
from clusterwright.plan.sizing.html_report import points, render_html
from clusterwright.plan.sizing.materials import materials


def test_the_page_stands_alone_in_both_languages(work, means):
    """Nothing is fetched; the bill and its total are there."""
    answer = for_deadline(work, gpu_of("h100-sxm-80gb"), 6 * 3600, means, Sharing())
    bought = materials(answer.sized, answer.machine)

    made = render_html(answer, bought, means)
    assert not re.search(r"(src|href)=.?https?:", made)
    assert "规划" in made
    assert f"{bought.bill.total.likely:,.0f}" in made


def test_the_curve_goes_to_twice_the_size(work, means):
    """Doubling, each where it fits; the range holds the likely value."""
    found = for_deadline(work, gpu_of("h100-sxm-80gb"), 2 * 3600, means, Sharing()).sized
    curve = list(points(found, means))

    assert max(point.gpus for point in curve) >= min(2 * found.gpus, 512)
    for point in curve:
        assert point.low < point.rate < point.high
