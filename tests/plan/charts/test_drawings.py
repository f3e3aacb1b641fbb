"""The planner's pictures are well-formed, drawn to scale, and say in words what they show."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.plan.charts.curves import ChartLine, Dot, Point, break_even, scaling, scatter
from clusterwright.plan.charts.memory_bars import memory_bars
from clusterwright.plan.charts.waterfall import parts, waterfall
from clusterwright.plan.prediction import Memory, Time
from clusterwright.units import GiB

SVG = "{http://www.w3.org/2000/svg}"
HELD = Memory(10 * GiB, 8 * GiB, 12 * GiB, 30 * GiB, 4 * GiB, 2 * GiB, 1 * GiB)
TIME = Time(8, 3, 0, 1.2, 0.8, 0, 0, 0.9, 0.05, 0.4, 0.1, 0, 0.2)
WIDTHS = pytest.mark.parametrize("width", [960.0, 340.0])


def bars(svg, style):
    """Widths of the rectangles of a style."""
    return [
        float(one.get("width")) for one in ET.fromstring(svg).iter(f"{SVG}rect") if one.get("class") == style
    ]


@WIDTHS
def test_memory_parts_are_as_wide_as_they_are_large(width):
    """Activations of 30 GiB are three times as wide as weights of 10."""
    svg = memory_bars([("stage 0", HELD)], 80 * GiB, width)

    assert bars(svg, "part-3")[0] / bars(svg, "part-0")[0] == pytest.approx(3, rel=0.05)
    assert "stage 0: 67.0 GiB" in svg


@WIDTHS
def test_the_waterfall_names_every_loss_with_its_seconds_and_share(width):
    """A part that is nothing is not drawn."""
    svg = waterfall(TIME, width)

    assert "3 s, 20.5%" in svg
    assert "recomputation" not in svg


@given(st.lists(st.floats(0, 1e3), min_size=13, max_size=13).filter(lambda parts: sum(parts) > 1e-3))
def test_the_waterfall_shows_nearly_all_of_the_time(values):
    """What is left out of the drawing is less than a hundredth."""
    time = Time(*values)

    assert sum(value for _, value in parts(time)) >= 0.99 * time.total


@WIDTHS
def test_scaling_says_the_share_of_linear(width):
    """Twice the GPUs at 1.8 times the rate are 90%."""
    svg = scaling([Point(8, 100, 90, 110), Point(16, 180, 150, 200)], "tokens/s", width)

    assert "90% @ 16" in svg
    ET.fromstring(svg)


@WIDTHS
def test_the_best_layout_is_the_fastest_that_fits(width):
    """A faster one that does not fit is not named the best."""
    svg = scatter(
        [Dot("fast", 1, 90 * GiB), Dot("good", 2, 70 * GiB), Dot("slow", 3, 10 * GiB)], 80 * GiB, width
    )

    assert "best 最优: good" in svg


@WIDTHS
def test_break_even_is_marked_where_it_lies(width):
    """A crossing at 4,000 hours is written there; none is written as never."""
    lines = [ChartLine("owned", 40_000, 1, owned=True), ChartLine("rented", 0, 11, owned=False)]

    assert "4000 h" in break_even(lines, 4000.0, "USD", width)
    assert "no break-even" in break_even(lines, None, "USD", width)
