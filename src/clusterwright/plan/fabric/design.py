"""Design of a fabric of one kind from the number of nodes, their ports and a switch model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _, _n
from clusterwright.plan.fabric.clos import Clos, Leaves, three_levels, two_levels, uplinks_for
from clusterwright.plan.fabric.parts import Fabric, FabricKind, FabricSwitch
from clusterwright.plan.numbers import divisors


@dataclass(frozen=True, slots=True)
class Options:
    """Rarely used options of a fabric."""

    tiers: int = 0  # levels of switches; 0: as few as possible
    planes: int = 1  # separate fabrics that each port is split over (twin-plane: 2)
    manager_ports: int = (
        0  # of the fabric manager: on a leaf if a node's position is free, else on the spines
    )
    rails_per_leaf: int = 0  # 0: one, or more if that saves switches with few nodes
    nodes_per_leaf: int = 0  # 0: as many as fit; 18 gives an NVL72 rack its own leaves


DEFAULTS = Options()


def design(
    kind: FabricKind | str,
    nodes: int,
    ports_per_node: int,
    switch: FabricSwitch,
    oversubscription: float = 1.0,
    options: Options = DEFAULTS,
) -> Fabric:
    """Design the fabric of this kind with the fewest switches; a ring or direct fabric has none.

    `options.planes` above 1 splits each switch port. The manager's ports count only where there are switches.

    Raises:
        WrightError: fabric-size, fabric-oversubscription, fabric-kind or fabric-too-large.
    """
    kind = FabricKind(kind)
    _refuse_nonsense(nodes, ports_per_node, switch, oversubscription)
    _refuse_options(options)
    plane_switch = switch.split(options.planes) if options.planes > 1 else switch
    clos: Clos | None = None
    if kind is FabricKind.RING:
        _ring_or_refuse(nodes, ports_per_node)
    elif kind is FabricKind.DIRECT:
        _direct_or_refuse(nodes)
    elif kind is FabricKind.STAR:
        clos = _star(nodes + math.ceil(options.manager_ports / ports_per_node), ports_per_node, plane_switch)
    else:
        ports = 1 if kind is FabricKind.RAIL_ONLY else ports_per_node
        clos = _tree(kind, nodes, ports, plane_switch, oversubscription, options)
    manager, rails = (
        options.manager_ports if clos else 0,
        ports_per_node if kind is FabricKind.RAIL_ONLY else 1,
    )
    rate = switch.port_bits_per_s
    return Fabric(kind, nodes, ports_per_node, rate, switch, clos, options.planes, manager, rails)


def largest(radix: int, oversubscription: float, tiers: int) -> int:
    """Return how many node ports `tiers` levels of switches with this radix can connect."""
    if tiers == 1:
        return radix
    down, _up = uplinks_for(radix, oversubscription)
    return radix * down if tiers == 2 else radix * (radix // 2) * down


def _tree(
    kind: FabricKind, nodes: int, ports: int, switch: FabricSwitch, ratio: float, options: Options
) -> Clos:
    tiers, radix, ends = options.tiers, switch.ports, nodes * ports + options.manager_ports
    if ends <= radix and tiers < 2:
        return Clos(radix, Leaves(1, 1, ports, nodes + options.manager_ports, 0))
    if kind is FabricKind.LEAF_SPINE:
        tiers = tiers or 2
    for level, tier_count in ((two_levels, 2), (three_levels, 3)):
        if tiers not in {0, tier_count}:
            continue
        candidates = []
        leaf_layouts = (
            layout
            for sides in _sides(radix, ratio)
            for layout in _leaf_layouts(kind, nodes, ports, sides, options)
        )
        for leaves in leaf_layouts:
            free = (leaves.units * leaves.nodes_per_leaf - nodes) * ports
            extra = 0 if options.manager_ports <= free else options.manager_ports
            candidates.append(level(radix, leaves, extra))
        reached = [clos for clos in candidates if clos is not None]
        if reached:
            return min(reached, key=lambda clos: sum(count for _, count, _ in clos.counts()))
    raise _too_large(ends, switch, ratio, tiers)


def _sides(radix: int, ratio: float) -> list[tuple[int, int]]:
    """Return possible (down, up) splits of a leaf's ports; with oversubscription, more uplinks may divide better."""
    down, up = uplinks_for(radix, ratio)
    more = range(up + 1, radix // 2 + 1) if ratio > 1 else ()
    return [(down, up), *((radix - extra, extra) for extra in more)]


def _leaf_layouts(
    kind: FabricKind, nodes: int, ports: int, sides: tuple[int, int], options: Options
) -> list[Leaves]:
    """Return possible arrangements of nodes on leaves, fewest leaves per node first; one for kind `rail`.

    Raises:
        WrightError: the requested rails per leaf do not fit on a leaf.
    """
    down, up = sides
    layouts = []
    for rails in divisors(ports):
        rail_ports = ports // rails
        max_nodes = down // rail_ports
        if max_nodes and options.rails_per_leaf in {0, rail_ports}:
            nodes_per_leaf = min(max_nodes, options.nodes_per_leaf or max_nodes)
            used = up if nodes_per_leaf == max_nodes else math.ceil(up * nodes_per_leaf * rail_ports / down)
            layouts.append(Leaves(rails, math.ceil(nodes / nodes_per_leaf), rail_ports, nodes_per_leaf, used))
    if not layouts:
        message = _(
            "{rails_per_leaf} rails cannot share a leaf with {down} ports for nodes",
            rails_per_leaf=options.rails_per_leaf,
            down=down,
        )
        raise _refused(
            "fabric-kind",
            message,
            _("choose a divisor of {ports} that is at most {down}", ports=ports, down=down),
        )
    if kind is FabricKind.RAIL:
        # one leaf per rail; with so few nodes that half of it would be empty, two or four rails share a leaf
        return [next((layout for layout in layouts if layout.units == 1), layouts[-1])]
    return layouts


def _star(places: int, ports: int, switch: FabricSwitch) -> Clos:
    """Build a star for `places` nodes of `ports` ports each: one switch, or the fewest switches around a central one.

    Raises:
        WrightError: the switch has too few ports.
    """
    radix = switch.ports
    if places * ports <= radix:
        return Clos(radix, Leaves(1, 1, ports, places, 0))
    for count in range(2, radix + 1):
        uplinks = min(radix // count, radix - 1)
        nodes_per_leaf = (radix - uplinks) // ports
        if nodes_per_leaf and count * nodes_per_leaf >= places:
            return Clos(radix, Leaves(1, count, ports, nodes_per_leaf, uplinks), 1, 1, uplinks)
    message = _(
        "a star of {switch} switches cannot connect {ports} ports", ports=places * ports, switch=switch.title
    )
    raise _refused(
        "fabric-too-large", message, _("use --kind leaf-spine or fat-tree, or a switch with more ports")
    )


def _refuse_nonsense(nodes: int, ports: int, switch: FabricSwitch, ratio: float) -> None:
    sizes = ((_("nodes"), nodes), (_("ports per node"), ports), (_("ports per switch"), switch.ports))
    for name, value in sizes:
        if value <= 0:
            message = _("{name}: {value} is less than 1", name=name, value=value)
            raise _refused("fabric-size", message, _("pass a value of at least 1"))
    if switch.port_bits_per_s <= 0:
        raise _refused(
            "fabric-size",
            _("the switch's ports have no rate"),
            _("write the number of ports and their rate, as in 64x400G"),
        )
    if not 1 <= ratio <= switch.ports - 1:
        message = _(
            "switches of {ports} ports cannot have an oversubscription of {ratio:g} to 1",
            ratio=ratio,
            ports=switch.ports,
        )
        fix = _("give ports down over ports up, 1 (full bisection) to {ports}", ports=switch.ports - 1)
        raise _refused("fabric-oversubscription", message, fix)


def _refuse_options(options: Options) -> None:
    bounds = (
        (_("levels"), options.tiers, 0, 3),
        (_("planes"), options.planes, 1, 8),  # a port has at most eight lanes
        (_("ports of the fabric manager"), options.manager_ports, 0, 64),
        (_("rails per leaf"), options.rails_per_leaf, 0, 1024),
        (_("nodes per leaf"), options.nodes_per_leaf, 0, 1024),
    )
    for name, value, least, most in bounds:
        if not least <= value <= most:
            message = _(
                "{name}: {value} is not {least} to {most}", name=name, value=value, least=least, most=most
            )
            raise _refused(
                "fabric-size", message, _("pass a value from {least} to {most}", least=least, most=most)
            )


def _ring_or_refuse(nodes: int, ports: int) -> None:
    if ports < 2 or nodes < 3:
        message = _("{nodes} nodes with {ports} ports per node do not close a ring", nodes=nodes, ports=ports)
        raise _refused("fabric-kind", message, _("use at least 3 nodes with at least 2 ports each"))


def _direct_or_refuse(nodes: int) -> None:
    if nodes != 2:
        message = _("{nodes} nodes cannot be connected port to port", nodes=nodes)
        raise _refused("fabric-kind", message, _("use star or leaf-spine; direct connects exactly 2 nodes"))


def _too_large(ports: int, switch: FabricSwitch, ratio: float, tiers: int) -> WrightError:
    limit = largest(switch.ports, ratio, tiers or 3)
    message = _n(
        "{ports} ports are more than {count} level of {switch} switches connects: {limit}",
        "{ports} ports are more than {count} levels of {switch} switches connect: {limit}",
        tiers or 3,
        ports=ports,
        switch=switch.title,
        limit=limit,
    )
    if 0 < tiers < 3:
        fix = _("use a switch with more ports, fewer ports per node, or more levels")
    else:
        fix = _("use a switch with more ports, fewer ports per node, two planes, or several clusters")
    return _refused("fabric-too-large", message, fix)


def _refused(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)
