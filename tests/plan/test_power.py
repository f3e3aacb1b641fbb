"""Power of nodes, racks and halls."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clusterwright.catalog.gpus import gpu
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.plan.power import Circuit, Node, PowerLimits, cooling, hall, node_of, node_power, supply

H100 = Node(8, 700)
GUIDE = Node(4, 250, cpus=1, cpu_w=225, dimms=8, disks=2, nics=1, nvswitch=False)  # EPYC 7543, 256 GB, 25GbE


@pytest.mark.parametrize(
    ("node", "rated"),
    [
        (Node(8, 400, cpu_w=225), 6500),
        (H100, 10200),
        (Node(8, 1000), 14300),
    ],
    ids=["DGX A100", "DGX H100", "DGX B200"],
)
def test_parts_add_up_to_less_than_the_makers_maximum(node, rated):
    """Within a tenth below the rating of three systems, and never above."""
    assert 0.88 * rated <= node_power(node).wall_w <= rated


@given(some.integers(0, 16), some.floats(50, 1500), some.booleans())
def test_parts_are_the_whole(gpus, watts, liquid):
    """What is inside is the sum; the wall sees more."""
    made = node_power(Node(gpus, watts, liquid=liquid))

    assert sum(each for _, each in made.parts) == pytest.approx(made.inside_w)
    assert made.wall_w > made.inside_w


def test_a_rating_is_what_is_planned_for():
    """Circuits are laid for the maximum."""
    assert node_power(replace(H100, rated_w=10200)).planned_w == 10200


def test_2200_w_hold_four_a100_cards_and_not_four_modules():
    """The guide's node: 250 W cards are 82% of one supply; 400 W modules are more than all of it."""
    cards, modules = supply(GUIDE, 2200), supply(replace(GUIDE, gpu_w=400), 2200)

    assert cards.sufficient
    assert cards.load == pytest.approx(0.82, abs=0.01)
    assert not modules.sufficient
    assert "limited to 287 W" in modules.reason


def test_the_limit_that_is_named_holds():
    """GPUs at the watts that the reason names keep to nine tenths of the supply."""
    assert supply(replace(GUIDE, gpu_w=286), 2200).sufficient
    assert not supply(replace(GUIDE, gpu_w=290), 2200).sufficient


def test_barely_is_not_enough():
    """95% of a supply holds until the GPUs spike."""
    made = supply(replace(GUIDE, gpu_w=310), 2200)

    assert not made.sufficient
    assert made.load < 1
    assert "barely" in made.reason


@given(some.integers(1, 500), some.floats(15e3, 150e3), some.floats(1, 2))
def test_racks_hold_all_nodes_within_their_limit(nodes, limit, pue):
    """Every node has a place, no rack draws more than it may, and the hall draws PUE times the machines."""
    made = hall(H100, nodes, PowerLimits(rack_w=limit, pue=pue), network_w=1000)

    assert made.racks * made.nodes_per_rack >= nodes
    assert (made.racks - 1) * made.nodes_per_rack < nodes
    assert made.rack_w <= limit
    assert made.hall_w == pytest.approx(pue * (made.nodes_w + 1000))


def test_sixteen_dgx_h100_at_40_kw():
    """Three a rack, behind rear doors: 6 racks, 163 kW, 557,000 BTU/h."""
    made = hall(replace(H100, rated_w=10200), 16)

    assert (made.nodes_per_rack, made.racks, made.cooling) == (3, 6, "rear door")
    assert made.machine_w == 163_200
    assert made.btu_per_h == pytest.approx(556_838, abs=1)


def test_a_rack_is_full_when_its_height_is():
    """Five nodes of 8 U in 42 U, whatever the power."""
    assert hall(H100, 100, PowerLimits(rack_w=1e6)).nodes_per_rack == 5


def test_each_feed_alone_carries_the_rack():
    """30.6 kW on three-phase 32 A at 400 V: two circuits a feed, two feeds."""
    assert Circuit().watts == pytest.approx(17_736, abs=1)
    assert hall(replace(H100, rated_w=10200), 16).circuits_per_rack == 4


@pytest.mark.parametrize(("watts", "how"), [(20e3, "air"), (45e3, "rear door"), (120e3, "liquid")])
def test_air_stops_at_30_kw(watts, how):
    """Air, rear doors, liquid, by power of the rack."""
    assert cooling(watts) == how


def test_a_node_of_a_gpu_of_the_catalog():
    """H100 SXM has a board; the L4 is a card."""
    assert node_of(gpu("h100-sxm-80gb")).nvswitch
    assert not node_of(gpu("l4"), 4).nvswitch


def test_an_nvl72_rack_is_one_liquid_cooled_node():
    """By its parts it draws what is published, 120 kW, within a tenth."""
    rack = node_of(gpu("gb200"))

    assert node_power(rack).wall_w == pytest.approx(120e3, rel=0.1)
    assert hall(rack, 8, PowerLimits(rack_w=132e3)).cooling == "liquid"
    assert hall(rack, 8, PowerLimits(rack_w=132e3)).racks == 8


@pytest.mark.parametrize(
    ("code", "build"),
    [
        ("power-size", lambda: hall(H100, 0)),
        ("power-size", lambda: hall(H100, 4, PowerLimits(pue=0.9))),
        ("power-size", lambda: node_power(Node(-1, 700))),
        ("power-size", lambda: supply(GUIDE, 2200, units=1)),
        ("power-rack", lambda: hall(H100, 4, PowerLimits(rack_w=5e3))),
        ("power-size", lambda: node_of(replace(gpu("h100-sxm-80gb"), power_w=0.0))),
    ],
)
def test_what_cannot_be_planned_is_refused(code, build):
    """Each with its code, as bad usage."""
    with pytest.raises(WrightError) as caught:
        build()

    assert caught.value.findings[0].code == code
    assert caught.value.exit_code == EXIT_USAGE
