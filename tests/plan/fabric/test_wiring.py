"""Who is cabled to whom."""

from collections import Counter, defaultdict

from clusterwright.plan.fabric.cables import leaf_of, links
from clusterwright.plan.fabric.design import Options, design
from clusterwright.plan.fabric.parts import FabricSwitch

NDR = FabricSwitch(64, 400 * 10**9)


def joined(fabric):
    """What hangs above each thing."""
    above = defaultdict(Counter)
    for link in links(fabric):
        above[link.lower][link.upper] += link.cables
    return above


def test_port_i_of_every_node_of_a_unit_hangs_on_the_leaf_of_rail_i():
    """Rail-optimized: 32 nodes share eight leaves, one a port; the next 32 have their own."""
    leaves = design("rail-optimized", 64, 8, NDR).clos.leaves

    for port in range(8):
        assert len({leaf_of(leaves, node, port) for node in range(32)}) == 1
        assert leaf_of(leaves, 0, port) != leaf_of(leaves, 32, port)
    assert len({leaf_of(leaves, node, port) for node in (0, 63) for port in range(8)}) == 16


def test_ports_of_a_node_share_a_leaf_of_a_fat_tree():
    """Fat tree: all eight ports of a node hang on one leaf."""
    above = joined(design("fat-tree", 64, 8, NDR))

    assert all(above[f"node{node}"].total() == 8 and len(above[f"node{node}"]) == 1 for node in range(1, 65))


def test_every_leaf_reaches_every_spine_of_its_pod_equally():
    """127 nodes of four units: each of 32 leaves has 2 cables to each of 16 spines."""
    above = joined(design("rail-optimized", 127, 8, NDR, options=Options(manager_ports=4)))

    for leaf in range(1, 33):
        assert above[f"leaf{leaf}"] == {f"spine{spine}": 2 for spine in range(1, 17)}
    assert above["manager"].total() == 4


def test_any_two_pods_meet_in_the_cores():
    """2048 nodes: from any spine of the first pod to each other pod there is a core that both know."""
    fabric = design("rail-optimized", 2048, 8, NDR)
    above = joined(fabric)
    spines = fabric.clos.spines

    for pod in range(1, fabric.clos.pods):
        cores = {core for spine in range(spines) for core in above[f"spine{pod * spines + spine + 1}"]}
        for spine in range(spines):
            assert cores & set(above[f"spine{spine + 1}"])


def test_a_ring_closes():
    """Every node has one neighbor on each side."""
    ends = Counter()
    for link in links(design("ring", 5, 4, NDR)):
        ends.update({link.lower: link.cables, link.upper: link.cables})

    assert ends == {f"node{node}": 4 for node in range(1, 6)}
