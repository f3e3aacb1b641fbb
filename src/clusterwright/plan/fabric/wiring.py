"""Who is cabled to whom, in one plane: every cable of a fabric by its two ends."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.plan.fabric.clos import Clos, Leaves
from clusterwright.plan.fabric.parts import Fabric, Kind, Link


def links(fabric: Fabric) -> Iterator[Link]:
    """All cables, those of the nodes first. Things are numbered from 1: node1, leaf1, spine1, core1."""
    if fabric.clos is None:
        yield from _without_switches(fabric)
        return
    yield from _nodes(fabric, fabric.clos)
    yield from _spines(fabric.clos)
    yield from _cores(fabric.clos)


def leaf_of(leaves: Leaves, node: int, port: int) -> int:
    """Number (from 0) of the leaf that a node's port hangs on; node and port from 0."""
    return port // leaves.node_ports * leaves.units + node // leaves.nodes_per_leaf


def _without_switches(fabric: Fabric) -> Iterator[Link]:
    if fabric.kind is Kind.DIRECT:
        yield Link("node1", "node2", fabric.ports_per_node)
        return
    for node in range(fabric.nodes):
        yield Link(f"node{node + 1}", f"node{(node + 1) % fabric.nodes + 1}", fabric.ports_per_node // 2)


def _nodes(fabric: Fabric, clos: Clos) -> Iterator[Link]:
    each = clos.leaves.node_ports
    for node in range(fabric.nodes):
        for port in range(0, fabric.ports_per_node, each):
            yield Link(f"node{node + 1}", f"leaf{leaf_of(clos.leaves, node, port) + 1}", each)
    for port in range(fabric.manager_ports - clos.on_spines):  # it stands where the next node would
        spot = port * fabric.ports_per_node // fabric.manager_ports
        yield Link("manager", f"leaf{leaf_of(clos.leaves, fabric.nodes, spot) + 1}", 1)
    for port in range(clos.on_spines):
        yield Link("manager", f"spine{port % (clos.pods * clos.spines) + 1}", 1)


def _spines(clos: Clos) -> Iterator[Link]:
    for leaf in range(clos.leaves.count):
        first = clos.pod_of(leaf) * clos.spines
        for spine in range(first, first + clos.spines):
            yield Link(f"leaf{leaf + 1}", f"spine{spine + 1}", clos.leaf_links)


def _cores(clos: Clos) -> Iterator[Link]:
    if clos.cores:
        for spine in range(clos.pods * clos.spines):
            for core in clos.cores_of(spine):
                yield Link(f"spine{spine + 1}", f"core{core + 1}", clos.core_links)
