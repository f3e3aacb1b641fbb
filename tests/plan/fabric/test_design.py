"""Fabrics against published component tables, and the laws every fabric keeps."""

import csv
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as some

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.plan.fabric.cables import links
from clusterwright.plan.fabric.clos import uplinks_for
from clusterwright.plan.fabric.design import DEFAULTS, Options, design, largest
from clusterwright.plan.fabric.parts import FabricKind, FabricSwitch

REFERENCE = Path(__file__).parents[3] / "bench" / "accuracy" / "published" / "fabric_reference.csv"
GBIT = 10**9
HDR, NDR, XDR = FabricSwitch(40, 200 * GBIT), FabricSwitch(64, 400 * GBIT), FabricSwitch(144, 800 * GBIT)
SPECTRUM_4 = FabricSwitch(64, 800 * GBIT, protocol="roce")
TREES = (FabricKind.FAT_TREE, FabricKind.RAIL, FabricKind.RAIL_ONLY, FabricKind.LEAF_SPINE)


def counted(fabric):
    """Switches of each level, then the cables under each."""
    return tuple(level.count for level in fabric.levels), tuple(level.cables_down for level in fabric.levels)


def published():
    """Rows that print switch counts."""
    with REFERENCE.open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["leaf_switches"]]


@pytest.mark.parametrize("row", published(), ids=lambda row: row["scalable_units"])
def test_superpod_b200_tables_come_out_exactly(row):
    """Every switch and cable count of the reference file."""
    switches = [row[f"{name}_switches"] for name in ("leaf", "spine", "core")]
    cables = [row[f"cables_{name}"] for name in ("node_leaf", "leaf_spine", "spine_core")]

    made = design("rail-optimized", int(row["nodes"]), int(row["nics_per_node"]), NDR)

    assert counted(made) == (
        tuple(int(value) for value in switches if value),
        tuple(int(value) for value in cables if value),
    )


@pytest.mark.parametrize(
    ("nodes", "switches", "cables"),
    [
        (31, (8, 4), (252, 256)),
        (63, (16, 8), (508, 512)),
        (95, (24, 16), (764, 768)),
        (127, (32, 16), (1020, 1024)),
    ],
)
def test_superpod_h100_with_its_fabric_manager(nodes, switches, cables):
    """DGX SuperPOD H100 reference architecture, table 4: the manager takes a node's place and four cables."""
    made = design("rail-optimized", nodes, 8, NDR, options=Options(manager_ports=4))

    assert counted(made) == (switches, cables)


@pytest.mark.parametrize(
    ("nodes", "switches"),
    [(72, (8, 4)), (144, (16, 8)), (288, (32, 18)), (576, (64, 36)), (1296, (144, 72))],
)
def test_superpod_b300_xdr(nodes, switches):
    """DGX SuperPOD B300 XDR reference architecture, table 3: 144 ports, units of 72 nodes."""
    made = design("rail-optimized", nodes, 8, XDR)

    assert counted(made) == (switches, (8 * nodes, 8 * nodes))


@pytest.mark.parametrize("units", [1, 2, 4, 8, 16])
def test_superpod_b300_in_two_planes(units):
    """DGX SuperPOD B300 (Spectrum-4) reference architecture, table 3: 64 nodes a unit, ports split in two."""
    made = design("rail-optimized", 64 * units, 8, SPECTRUM_4, options=Options(planes=2))

    assert counted(made) == ((16 * units, 8 * units), (512 * units, 512 * units))


def test_seven_units_on_40_port_switches():
    """140 nodes: a rail's 7 leaves want 7 spines, but 7 does not divide 20 uplinks; 80 spines and 28 full cores."""
    made = design("rail-optimized", 140, 8, HDR)

    assert counted(made) == ((56, 80, 28), (1120, 1120, 1120))


def test_a_roce_cluster_of_four_rails():
    """Asterfusion's example, https://cloudswit.ch/?p=23330: 64 nodes of 4 ports take 4 leaves and 2 spines."""
    made = design("rail-optimized", 64, 4, SPECTRUM_4.split(2))

    assert counted(made)[0] == (4, 2)


def test_a_manager_without_a_free_place_hangs_on_the_spines():
    """20 nodes fill the leaves of an A100 unit: four more ports take a fifth spine; no second unit is built."""
    made = design("rail-optimized", 20, 8, HDR, options=Options(manager_ports=4))

    assert counted(made) == ((8, 5), (160, 164))
    assert design("rail-optimized", 140, 8, HDR, options=Options(manager_ports=4)).switches == 56 + 80 + 28
    assert sum(link.cables for link in links(made) if link.lower == "manager") == 4


def test_racks_are_kept_together():
    """Eight NVL72 racks of 18 trays: a leaf for each rack and rail, as many cables up as down."""
    made = design("rail-optimized", 144, 4, NDR, options=Options(nodes_per_leaf=18))

    assert made.clos.leaves.units == 8
    assert counted(made)[1] == (576, 576)
    assert made.oversubscription == 1


def test_the_generic_limits_of_64_port_switches():
    """One level joins 64 ports, two 2048, three 65,536, as the reference file prints, and not one more."""
    limits = [64, 2048, 65536]

    assert [largest(64, 1, tiers) for tiers in (1, 2, 3)] == limits
    for tiers, ports in enumerate(limits, 1):
        assert design("fat-tree", ports, 1, NDR).tiers == tiers
    with pytest.raises(WrightError, match="more than 3 levels"):
        design("fat-tree", 65537, 1, NDR)


@pytest.mark.parametrize(("nodes", "tiers"), [(64, 1), (65, 2), (2048, 2), (2049, 3), (65536, 3)])
def test_the_generic_limits_are_nodes_where_rails_are_apart(nodes, tiers):
    """64 nodes of 8 GPUs, 512 in all, on one level: a switch for each rail, as the reference file prints."""
    made = design("rail-only", nodes, 8, NDR)

    assert made.tiers == tiers
    assert made.levels[0].cables_down == 8 * nodes
    assert made.switches == 8 * design("fat-tree", nodes, 1, NDR).switches


def test_127_nodes_of_the_reference_are_1016_gpus_on_four_units():
    """One slot of four units of 32 goes to the fabric manager."""
    made = design("rail-optimized", 127, 8, NDR, options=Options(manager_ports=4))

    assert made.clos.leaves.units == 4
    assert made.nodes * made.ports_per_node == 1016


def test_few_nodes_share_leaves_between_rails():
    """16 nodes of 8 ports take half the leaves of 32; 8 nodes take one switch."""
    assert counted(design("rail-optimized", 16, 8, NDR))[0] == (4, 2)
    assert counted(design("rail-optimized", 9, 8, NDR))[0] == (4, 2)
    assert counted(design("rail-optimized", 8, 8, NDR))[0] == (1,)


@settings(max_examples=40, deadline=None)  # a busy machine is no failure
@given(
    kind=some.sampled_from((FabricKind.STAR, *TREES)),
    nodes=some.integers(1, 700),
    ports=some.sampled_from([1, 2, 4, 8]),
    radix=some.sampled_from([32, 36, 40, 48, 64]),
    ratio=some.sampled_from([1.0, 1.5, 2.0, 3.0]),
    manager=some.sampled_from([0, 1, 4, 9]),
)
def test_every_port_is_cabled_once_and_no_switch_has_more_cables_than_ports(
    kind, nodes, ports, radix, ratio, manager
):
    """The cables listed one by one agree with the counts, and nobody has too many; a manager has all of its."""
    made = built(kind, nodes, ports, radix, ratio, Options(manager_ports=manager))
    ends, kinds = Counter(), Counter()
    for link in links(made):
        ends.update({link.lower: link.cables, link.upper: link.cables})
        kinds[link.upper.rstrip("0123456789")] += link.cables

    assert all(ends[f"node{index + 1}"] == ports for index in range(nodes))
    assert ends["manager"] == manager * made.rails
    assert all(count <= radix for name, count in ends.items() if not name.startswith(("node", "manager")))
    assert [kinds[name] for name in ("leaf", "spine", "core")][: made.tiers] == [
        level.cables_down for level in made.levels
    ]
    assert all(level.ports_free >= 0 for level in made.levels)


@settings(deadline=None)  # a busy machine is no failure
@given(
    nodes=some.integers(1, 700),
    ports=some.sampled_from([1, 4, 8]),
    kind=some.sampled_from(TREES),
    ratio=some.sampled_from([1.0, 2.0, 3.0]),
)
def test_ports_up_times_the_ratio_hold_the_ports_down(nodes, ports, kind, ratio):
    """A leaf's ports down are at most its ports up times the oversubscription; a spine's are no fewer up than down."""
    made = built(kind, nodes, ports, 64, ratio)
    clos = made.clos
    assume(clos.spines)

    assert clos.leaves.nodes_per_leaf * clos.leaves.node_ports <= ratio * clos.leaves.uplinks
    if clos.cores:
        pod_leaves = -(-clos.leaves.units // (clos.pods // clos.leaves.rails))
        assert clos.spine_uplinks >= pod_leaves * clos.leaf_links


@settings(deadline=None)  # a busy machine is no failure
@given(
    some.integers(1, 1500), some.integers(0, 200), some.sampled_from(TREES), some.sampled_from([1, 2, 4, 8]),
    some.sampled_from([1.0, 1.5, 3.0]),
)  # fmt: skip
def test_more_nodes_never_take_fewer_switches(nodes, more, kind, ports, ratio):
    """The number of switches is monotone in the number of nodes, and sharing uplinks never takes more of them."""
    few, many = built(kind, nodes, ports, 64, ratio), built(kind, nodes + more, ports, 64, ratio)

    assert few.switches <= built(kind, nodes, ports, 64, 1.0).switches
    assert few.switches <= many.switches


@settings(deadline=None)  # a busy machine is no failure
@given(some.integers(1, 512), some.sampled_from([1, 2, 4, 8]), some.sampled_from(TREES))
def test_full_bisection_is_half_of_all_ports(nodes, ports, kind):
    """At 1 to 1 the worst halves exchange all that half of the nodes can send."""
    made = built(kind, nodes, ports, 64, 1.0)

    assert made.bisection_bits_per_s == nodes * ports / 2 * made.port_bits_per_s
    assert made.oversubscription == 1


def built(kind, nodes, ports, radix, ratio, options=DEFAULTS):
    """A fabric, where the radix reaches."""
    try:
        return design(kind, nodes, ports, FabricSwitch(radix, 400 * GBIT), ratio, options)
    except WrightError:
        assume(False)


def test_a_full_leaf_spine_at_two_to_one_has_half_the_bisection():
    """48 leaves of 42 ports, 21 up: the cut is half of what the nodes send."""
    made = design("leaf-spine", 42 * 40, 1, NDR, 2.0)

    assert made.bisection_bits_per_s == 21 * 40 / 2 * 400 * GBIT
    assert made.oversubscription == 2


def test_a_tapered_fabric_never_takes_more_switches_than_a_full_one():
    """16 nodes of 8 ports: 21 uplinks do not divide by two spines, 22 do."""
    full, tapered = (design("leaf-spine", 16, 8, NDR, ratio) for ratio in (1.0, 2.0))

    assert counted(tapered)[0] == (4, 2)
    assert tapered.switches <= full.switches
    assert tapered.cables < full.cables


def test_a_ring_has_two_cuts_and_no_switch():
    """Eight nodes of 2 ports: 8 cables; two of them cross every cut; the far side is 3 nodes away."""
    made = design("ring", 8, 2, NDR)

    assert (made.switches, made.cables, made.hops) == (0, 8, 3)
    assert made.bisection_bits_per_s == 2 * 400 * GBIT
    assert made.oversubscription == 4


def test_rails_share_a_leaf_as_asked():
    """Two rails on a leaf: 16 nodes a unit; three rails do not divide eight ports."""
    made = design("rail-optimized", 64, 8, NDR, options=Options(rails_per_leaf=2))

    assert (made.clos.leaves.rails, made.clos.leaves.nodes_per_leaf) == (4, 16)
    with pytest.raises(WrightError, match="cannot share a leaf"):
        design("rail-optimized", 64, 8, NDR, options=Options(rails_per_leaf=3))


def test_cables_that_end_at_a_node():
    """All but those between switches; without switches, all."""
    assert design("rail-optimized", 64, 8, NDR).node_cables == 512
    assert design("ring", 8, 4, NDR).node_cables == 16


def test_two_nodes_port_to_port_take_a_cable_a_port():
    """Direct: no switch."""
    made = design("direct", 2, 8, NDR)

    assert (made.switches, made.cables, made.oversubscription) == (0, 8, 1)


def test_a_star_outgrows_its_switch_and_shares_its_uplinks():
    """16 nodes with one port hang on one switch; 512 ports hang on leaves that share few uplinks."""
    assert design("star", 16, 1, NDR).switches == 1
    wide = design("star", 64, 8, NDR)
    assert [level.name for level in wide.levels] == ["leaf", "spine"]
    assert wide.levels[1].count == 1
    assert wide.oversubscription > 8


@pytest.mark.parametrize(
    ("code", "kind", "nodes", "ports", "switch", "ratio"),
    [
        ("fabric-size", "fat-tree", 0, 8, NDR, 1),
        ("fabric-size", "fat-tree", 4, -1, NDR, 1),
        ("fabric-size", "fat-tree", 4, 8, FabricSwitch(0, GBIT), 1),
        ("fabric-size", "fat-tree", 4, 8, FabricSwitch(64, 0), 1),
        ("fabric-oversubscription", "leaf-spine", 4, 8, NDR, 0.5),
        ("fabric-oversubscription", "leaf-spine", 4, 8, NDR, 64),
        ("fabric-oversubscription", "leaf-spine", 4, 8, NDR, float("nan")),
        ("fabric-too-large", "rail-optimized", 9000, 8, NDR, 1),
        ("fabric-too-large", "star", 9000, 8, NDR, 1),
        ("fabric-kind", "ring", 8, 1, NDR, 1),
        ("fabric-kind", "ring", 2, 2, NDR, 1),
        ("fabric-kind", "direct", 3, 2, NDR, 1),
    ],
)
def test_what_cannot_be_built_is_refused(code, kind, nodes, ports, switch, ratio):
    """Each with its code, as bad usage."""
    with pytest.raises(WrightError) as caught:
        design(kind, nodes, ports, switch, ratio)

    assert caught.value.findings[0].code == code
    assert caught.value.exit_code == EXIT_USAGE


@pytest.mark.parametrize(
    "options",
    [Options(tiers=4), Options(planes=0), Options(manager_ports=-1), Options(nodes_per_leaf=-1)],
)
def test_options_that_cannot_be_are_refused(options):
    """Levels, planes and ports have bounds."""
    with pytest.raises(WrightError) as caught:
        design("fat-tree", 16, 8, NDR, options=options)

    assert caught.value.findings[0].code == "fabric-size"


@settings(deadline=None)  # a busy machine is no failure
@given(some.integers(4, 256), some.floats(1, 3))
def test_a_leaf_keeps_to_its_radix(radix, ratio):
    """Down and up fit, up is at least one, and down is no more than the ratio allows."""
    down, up = uplinks_for(radix, ratio)

    assert up >= 1
    assert down + up <= radix
    assert down <= ratio * up + 1e-6


def test_forced_levels_are_kept():
    """Three levels for few nodes, where they are to grow; and two that do not reach are refused."""
    assert design("fat-tree", 100, 1, NDR, options=Options(tiers=3)).tiers == 3
    with pytest.raises(WrightError, match="2 levels"):
        design("fat-tree", 3000, 1, NDR, options=Options(tiers=2))
