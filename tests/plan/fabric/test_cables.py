"""Lengths and classes of cables."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from clusterwright.plan.fabric.cables import Hall, media, medium, optics_w, schedule
from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.parts import FabricSwitch

GBIT = 10**9
NDR = FabricSwitch(64, 400 * GBIT)


@settings(max_examples=40, deadline=None)  # a busy machine is no failure
@given(
    some.sampled_from(["star", "ring", "leaf-spine", "fat-tree", "rail-optimized", "rail-only"]),
    some.integers(3, 200),
    some.sampled_from([2, 8]),
)
def test_the_schedule_holds_every_cable(kind, nodes, ports):
    """No cable is lost or made up on the way to the order."""
    made = design(kind, nodes, ports, NDR)

    assert sum(cable.count for cable in schedule(made)) == made.cables


def test_a_leaf_in_the_rack_of_its_nodes_takes_copper_and_the_spines_take_glass():
    """Fat tree of 64 nodes, 4 a rack: nodes by DAC, leaves by transceivers."""
    cables = schedule(design("fat-tree", 64, 8, NDR), Hall(nodes_per_rack=4))

    assert {(cable.level, cable.medium) for cable in cables if cable.level == "node"} == {("node", "DAC")}
    assert "SR" in {cable.medium for cable in cables if cable.level == "leaf"}


@pytest.mark.parametrize(
    ("gbit", "length", "name"),
    [
        (400, 3, "DAC"),
        (400, 5, "SR"),
        (400, 100, "DR"),
        (200, 30, "AOC"),
        (25, 5, "DAC"),
        (1, 30, "Cat6"),
        (800, 30, "DR"),
    ],
)
def test_the_class_follows_rate_and_length(gbit, length, name):
    """Copper within a rack, multimode within a row, single mode across the hall."""
    assert medium(gbit * GBIT, length).medium == name


@pytest.mark.parametrize("gbit", [1, 10, 25, 100, 200, 400, 800, 1600])
def test_the_next_class_reaches_farther(gbit):
    """Classes of a rate are ordered by reach."""
    assert all(a.reach_m < b.reach_m for a, b in pairwise(media(gbit * GBIT)))


def test_racks_farther_apart_never_take_shorter_cables():
    """Wider racks, longer cables."""
    made = design("rail-optimized", 128, 8, NDR)
    narrow, wide = (
        sum(cable.length_m * cable.count for cable in schedule(made, Hall(rack_m=width)))
        for width in (0.6, 0.8)
    )

    assert narrow <= wide


def test_copper_draws_next_to_nothing():
    """A star in one rack has no transceivers to feed."""
    made = design("star", 4, 2, NDR)

    assert optics_w(schedule(made)) == pytest.approx(2 * 0.1 * 8)
