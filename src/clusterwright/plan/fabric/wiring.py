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
    for rail in range(fabric.rails):
        yield from _nodes(fabric, fabric.clos, rail)
    for level in (_spines, _cores):
        for rail in range(fabric.rails):
            yield from level(fabric.clos, rail)


def leaf_of(leaves: Leaves, node: int, port: int) -> int:
    """Number (from 0) of the leaf that a node's port hangs on; node and port from 0."""
    return port // leaves.node_ports * leaves.units + node // leaves.nodes_per_leaf


def _without_switches(fabric: Fabric) -> Iterator[Link]:
    if fabric.kind is Kind.DIRECT:
        yield Link("node1", "node2", fabric.ports_per_node)
        return
    for node in range(fabric.nodes):
        yield Link(f"node{node + 1}", f"node{(node + 1) % fabric.nodes + 1}", fabric.ports_per_node // 2)


def _nodes(fabric: Fabric, clos: Clos, rail: int) -> Iterator[Link]:
    each, leaves = clos.leaves.node_ports, clos.leaves
    first, ports = rail * leaves.count + 1, fabric.ports_per_node // fabric.rails
    for node in range(fabric.nodes):
        for port in range(0, ports, each):
            yield Link(f"node{node + 1}", f"leaf{first + leaf_of(leaves, node, port)}", each)
    for port in range(fabric.manager_ports - clos.on_spines):  # it stands where the next node would
        place, spot = divmod(port, ports)
        yield Link("manager", f"leaf{first + leaf_of(leaves, fabric.nodes + place, spot)}", 1)
    spines = clos.pods * clos.spines
    for port in range(clos.on_spines):
        yield Link("manager", f"spine{rail * spines + port % spines + 1}", 1)


def _spines(clos: Clos, rail: int) -> Iterator[Link]:
    below, above = rail * clos.leaves.count + 1, rail * clos.pods * clos.spines + 1
    for leaf in range(clos.leaves.count):
        first = clos.pod_of(leaf) * clos.spines
        for spine in range(first, first + clos.spines):
            yield Link(f"leaf{below + leaf}", f"spine{above + spine}", clos.leaf_links)


def _cores(clos: Clos, rail: int) -> Iterator[Link]:
    if clos.cores:
        spines = clos.pods * clos.spines
        below, above = rail * spines + 1, rail * clos.core_groups * clos.cores + 1
        for spine in range(spines):
            for core in clos.cores_of(spine):
                yield Link(f"spine{below + spine}", f"core{above + core}", clos.core_links)
