"""The picture."""

from xml.etree import ElementTree as ET

from bench.resilience.page_groups import RawLines
from bench.resilience.page_plot import LEAST, LEFT, MOST, RIGHT, WIDE, across, plot
from hypothesis import given
from hypothesis import strategies as st


def test_every_trial_that_came_back_is_a_dot(line):
    """And those that did not are counted at the edge."""
    lines = [
        line(total=0.4),
        line(total=0.5),
        line(system="a <b>", total=4.5),
        line(system="a <b>", outcome="hung"),
    ]
    drawn = ET.fromstring(plot(RawLines(lines)))
    words = ["".join(each.itertext()) for each in drawn.iter("{http://www.w3.org/2000/svg}text")]

    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) == 3
    assert {"one rank killed", "ours", "a <b>", "1 lost"} <= set(words)


@given(st.floats(0, 1000), st.floats(0, 1000))
def test_later_is_further_right(one, other):
    """As far as the picture goes."""
    assert LEFT <= across(one) <= WIDE - RIGHT
    if LEAST <= one < other <= MOST:
        assert across(one) <= across(other)
