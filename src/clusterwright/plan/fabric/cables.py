"""Cables of a fabric: their lengths in the hall, and copper, active optical cables or transceivers by length."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.catalog.parts import cables as classes
from clusterwright.catalog.records import Cable as Class
from clusterwright.plan.fabric.clos import Clos, Leaves
from clusterwright.plan.fabric.parts import Fabric, FabricKind, Link

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog


LENGTHS_M = (1, 2, 3, 5, 10, 15, 20, 30, 50, 100, 150, 300, 500)  # lengths in which cables are sold


@dataclass(frozen=True, slots=True)
class Hall:
    """Positions of racks, to estimate cable lengths for an order; measure before cutting."""

    nodes_per_rack: int = 4
    racks_per_row: int = 20
    rack_m: float = 0.6  # width of a rack; EIA-310 cabinets are 600 mm or 700 mm wide
    row_m: float = 3.0  # between rows: 1.2 m of rack and half of a cold and a hot aisle
    in_rack_m: float = 1.5  # between two units of one rack
    rise_m: float = 2.0  # from a unit up to the cable tray, at each end


@dataclass(frozen=True, slots=True)
class Cable:
    """Identical cables of a schedule: class, length and count."""

    level: str  # of the lower end: node, leaf, spine
    item: str  # class in the catalog: dac-400
    medium: str
    length_m: int
    count: int
    end_power_w: float


HALL = Hall()


def media(bits_per_s: float, user_catalog: UserCatalog | None = None) -> list[Class]:
    """Return the cable classes for a port rate, shortest reach first: of the lowest rate that is at least this one.

    Above all rates: those of the highest. The user's classes replace built-in ones of the same name.
    """
    cable_classes = {**classes(), **(user_catalog.cables if user_catalog else {})}
    rates = sorted({cable_class.bits_per_s for cable_class in cable_classes.values()})
    rate = next((value for value in rates if value >= bits_per_s), rates[-1])
    return sorted(
        (cable_class for cable_class in cable_classes.values() if cable_class.bits_per_s == rate),
        key=lambda cable_class: cable_class.reach_m,
    )


def medium(bits_per_s: float, length_m: float, user_catalog: UserCatalog | None = None) -> Class:
    """Return the cable class with the shortest sufficient reach in m; the longest one if none is sufficient.

    A port rate without classes of its own takes those of the next higher rate.
    """
    cable_classes = media(bits_per_s, user_catalog)
    return next(
        (cable_class for cable_class in cable_classes if cable_class.reach_m >= length_m), cable_classes[-1]
    )


def schedule(fabric: Fabric, hall: Hall = HALL, user_catalog: UserCatalog | None = None) -> list[Cable]:
    """Return the cables to order for a fabric with medium, length and count, identical ones merged.

    `hall` has the distances that set lengths.
    """
    counts: Counter[tuple[str, int]] = Counter()
    for link, length in lengths(fabric, hall):
        counts[link.lower.rstrip("0123456789"), length] += link.cables
    order = {"node": 0, "manager": 1, "leaf": 2, "spine": 3}
    cables = []
    for (level, length), count in sorted(counts.items(), key=lambda item: (order[item[0][0]], item[0][1])):
        sort = medium(fabric.port_bits_per_s, length, user_catalog)
        cables.append(Cable(level, sort.name, sort.medium, length, count, sort.end_power_w))
    return cables


def lengths(fabric: Fabric, hall: Hall = HALL) -> Iterator[tuple[Link, int]]:
    """Yield every link of one plane with the length in m of the cable to buy for it, by the distances of the hall."""
    spots = _Spots(fabric, hall)
    for link in links(fabric):
        yield link, spots.length(link)


def optics_w(cables: list[Cable]) -> float:
    """Return the power of the transceivers at both ends of all cables, in watts."""
    return sum(2 * cable.end_power_w * cable.count for cable in cables)


class _Spots:
    """Rack positions: nodes fill racks in order, leaves are amid their nodes, other switches in the middle."""

    def __init__(self, fabric: Fabric, hall: Hall) -> None:
        self._fabric, self._hall = fabric, hall
        self._racks = math.ceil(fabric.nodes / hall.nodes_per_rack)

    def length(self, link: Link) -> int:
        """Length of a link's cable in whole meters: the next length that is sold; above all of them the exact one.

        It goes along racks and rows, and up and down at both ends.
        """
        hall = self._hall
        lower_rack, upper_rack = self._rack(link.lower), self._rack(link.upper)
        if lower_rack == upper_rack:
            exact = hall.in_rack_m
        else:
            rack_distance_m = (
                abs(lower_rack % hall.racks_per_row - upper_rack % hall.racks_per_row) * hall.rack_m
            )
            rows = abs(lower_rack // hall.racks_per_row - upper_rack // hall.racks_per_row) * hall.row_m
            exact = 2 * hall.rise_m + rack_distance_m + rows
        return next((step for step in LENGTHS_M if step >= exact), math.ceil(exact))

    def _rack(self, name: str) -> int:
        kind = name.rstrip("0123456789")
        number = int(name.removeprefix(kind) or 1) - 1
        if kind == "node":
            return number // self._hall.nodes_per_rack
        clos = self._fabric.clos
        if kind == "leaf" and clos:
            first_node = number % clos.leaves.units * clos.leaves.nodes_per_leaf
            last = min(first_node + clos.leaves.nodes_per_leaf, self._fabric.nodes) - 1
            return (first_node + max(first_node, last)) // 2 // self._hall.nodes_per_rack
        return self._racks // 2


def links(fabric: Fabric) -> Iterator[Link]:
    """Yield all links of one plane, those of the nodes first; ends are named node1, leaf1, spine1, core1."""
    if fabric.clos is None:
        yield from _without_switches(fabric)
        return
    for rail in range(fabric.rails):
        yield from _nodes(fabric, fabric.clos, rail)
    for level in (_spines, _cores):
        for rail in range(fabric.rails):
            yield from level(fabric.clos, rail)


def leaf_of(leaves: Leaves, node: int, port: int) -> int:
    """Return the index of the leaf that a node's port is connected to; all indices start at 0."""
    return port // leaves.node_ports * leaves.units + node // leaves.nodes_per_leaf


def _without_switches(fabric: Fabric) -> Iterator[Link]:
    if fabric.kind is FabricKind.DIRECT:
        yield Link("node1", "node2", fabric.ports_per_node)
        return
    for node in range(fabric.nodes):
        yield Link(f"node{node + 1}", f"node{(node + 1) % fabric.nodes + 1}", fabric.ports_per_node // 2)


def _nodes(fabric: Fabric, clos: Clos, rail: int) -> Iterator[Link]:
    ports_per_leaf, leaves = clos.leaves.node_ports, clos.leaves
    first_leaf, ports = rail * leaves.count + 1, fabric.ports_per_node // fabric.rails
    for node in range(fabric.nodes):
        for port in range(0, ports, ports_per_leaf):
            yield Link(f"node{node + 1}", f"leaf{first_leaf + leaf_of(leaves, node, port)}", ports_per_leaf)
    for port in range(fabric.manager_ports - clos.on_spines):  # the manager occupies the next node's position
        node_offset, spot = divmod(port, ports)
        yield Link("manager", f"leaf{first_leaf + leaf_of(leaves, fabric.nodes + node_offset, spot)}", 1)
    spines = clos.pods * clos.spines
    for port in range(clos.on_spines):
        yield Link("manager", f"spine{rail * spines + port % spines + 1}", 1)


def _spines(clos: Clos, rail: int) -> Iterator[Link]:
    below, above = rail * clos.leaves.count + 1, rail * clos.pods * clos.spines + 1
    for leaf in range(clos.leaves.count):
        first_spine = clos.pod_of(leaf) * clos.spines
        for spine in range(first_spine, first_spine + clos.spines):
            yield Link(f"leaf{below + leaf}", f"spine{above + spine}", clos.leaf_links)


def _cores(clos: Clos, rail: int) -> Iterator[Link]:
    if clos.cores:
        spines = clos.pods * clos.spines
        below, above = rail * spines + 1, rail * clos.core_groups * clos.cores + 1
        for spine in range(spines):
            for core in clos.cores_of(spine):
                yield Link(f"spine{below + spine}", f"core{above + core}", clos.core_links)
