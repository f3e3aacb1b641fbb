"""All kinds side by side."""

import pytest

from clusterwright.catalog import gpu
from clusterwright.catalog.parts import switches
from clusterwright.catalog.user_catalog import UserCatalog
from clusterwright.errors import WrightError
from clusterwright.plan.fabric.cables import HALL, schedule
from clusterwright.plan.fabric.compare import FabricRequirements, compare, cost
from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.networks import networks
from clusterwright.plan.fabric.parts import FabricKind, FabricSwitch
from clusterwright.plan.fabric.record import cable_rows, compared_record, networks_record
from clusterwright.plan.fabric.switches import for_ports, from_catalog, switch_of, usual_switch
from clusterwright.plan.machines import machine

GBIT = 10**9
QM9700 = switch_of("qm9700")
H100 = machine(gpu("h100-sxm-80gb"), 512)


def test_every_kind_has_a_row_and_what_cannot_be_built_says_why():
    """Two nodes: a ring cannot be closed, and direct is one more kind."""
    rows = {
        row.kind: row for row in compare(FabricRequirements(2, 8, QM9700), machine(gpu("h100-sxm-80gb"), 16))
    }

    assert set(rows) == set(FabricKind)
    assert rows[FabricKind.RING].fabric is None
    assert "do not close a ring" in rows[FabricKind.RING].why_not
    assert compared_record(rows[FabricKind.RING]) == {
        "kind": "ring",
        "why_not": rows[FabricKind.RING].why_not,
    }


def test_a_row_agrees_with_its_fabric():
    """Power is switches and optics, cost the prices of both, cables what the schedule holds."""
    row = compare(FabricRequirements(64, 8, QM9700), H100, kinds=(FabricKind.RAIL,))[0]

    assert sum(cable.count for cable in row.cables) == row.fabric.cables == 1024
    assert row.power_w > row.fabric.switch_power_w == 24 * QM9700.power_w
    assert row.cost.low < row.cost.likely < row.cost.high
    assert row.cost.unknown == ()
    assert compared_record(row)["levels"][1]["switches"] == 8


def test_leaf_spine_is_tapered_unless_said_otherwise():
    """2 to 1 where nothing is said; 1 to 1 where it is."""
    usual, full = (
        compare(FabricRequirements(64, 8, QM9700, ratio), H100, kinds=(FabricKind.LEAF_SPINE,))[0].fabric
        for ratio in (None, 1.0)
    )

    assert usual.switches < full.switches
    assert usual.oversubscription > full.oversubscription == 1


def test_nonsense_is_not_a_row():
    """A ratio below 1 is refused for all of them."""
    with pytest.raises(WrightError, match="oversubscription"):
        compare(FabricRequirements(64, 8, QM9700, 0.5), H100)


def test_what_has_no_price_is_named():
    """An own switch without a price is not counted as free."""
    made = design("star", 4, 8, FabricSwitch(64, 400 * GBIT, "mine"))

    assert "mine" in cost(made, schedule(made)).unknown


@pytest.mark.parametrize("nodes", [2, 16, 128, 1024, 8192])
def test_three_networks_join_the_same_nodes(nodes):
    """Storage: nodes and servers; management: two ports of each, and one of each switch."""
    three = networks(design("rail-optimized", nodes, 8, QM9700))

    assert three.compute.nodes == nodes
    assert three.storage.nodes == nodes + 4
    assert three.management.nodes * 2 >= 2 * (nodes + 4) + three.compute.switches + three.storage.switches
    assert set(networks_record(three)) == {"compute", "storage", "management"}


def test_switches_of_all_three_are_counted_and_a_storage_switch_may_be_ones_own():
    """The sum; and one that is too small for the nodes is refused."""
    compute = design("rail-optimized", 64, 8, QM9700)
    three = networks(compute)

    assert three.switches == 24 + three.storage.switches + three.management.switches
    with pytest.raises(WrightError, match="levels of tiny"):
        networks(compute, storage_switch=FabricSwitch(4, 200 * GBIT, "tiny"))


def test_every_cable_is_a_row():
    """From, to, how many, how long, of which class."""
    made = design("leaf-spine", 16, 8, QM9700)
    rows = list(cable_rows(made, HALL))

    assert sum(row[2] for row in rows) == made.cables
    assert rows[0][:2] == ("node1", "leaf1")


def test_a_switch_is_a_name_or_a_shape():
    """The catalog's, or ports and rate."""
    assert switch_of("64x400G") == FabricSwitch(64, 400 * GBIT)
    assert switch_of("QM9700").ports == 64
    assert switch_of("sn5600", "ethernet").protocol == "ethernet"
    assert switch_of("sn5600").protocol == "roce"
    with pytest.raises(WrightError, match="qm970"):
        switch_of("qm970")


def test_every_switch_of_the_catalog_can_be_used():
    """Rates are whole bits per second, ports are there."""
    assert all(design("star", 2, 1, from_catalog(each)).switches == 1 for each in switches().values())


def test_the_usual_switch_has_the_ports_rate_and_protocol():
    """InfiniBand of 400G is Quantum-2; a rate that none has is a shape."""
    assert usual_switch(400 * GBIT, "infiniband").name == "qm9700"
    assert usual_switch(25 * GBIT, "roce").protocol == "roce"
    assert usual_switch(7 * GBIT, "roce", UserCatalog()).ports == 64


def test_faster_ports_split_and_slower_ones_are_refused():
    """64 of 800G are 128 of 400G; 400G does not go into 200G."""
    wide = for_ports(FabricSwitch(64, 800 * GBIT), 400 * GBIT)

    assert (wide.ports, wide.port_bits_per_s, wide.title) == (128, 400 * GBIT, "64x800G/2")
    with pytest.raises(WrightError) as caught:
        for_ports(FabricSwitch(64, 200 * GBIT), 400 * GBIT)
    assert caught.value.findings[0].code == "fabric-rate"
