"""From nodes, ports and a switch to a fabric of a kind."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.plan.fabric.clos import Clos, Leaves, divisors, three_levels, two_levels, uplinks_for
from clusterwright.plan.fabric.parts import Fabric, Kind, Switch


@dataclass(frozen=True, slots=True)
class Options:
    """What is rarely asked for."""

    tiers: int = 0  # levels of switches; 0: as few as it takes
    planes: int = 1  # each port split over so many separate fabrics (twin-plane: 2)
    manager_ports: int = 0  # of the fabric manager: in a node's place if one is free, else on the spines
    rails_per_leaf: int = 0  # 0: one, or more where the nodes are so few that switches can be saved
    nodes_per_leaf: int = 0  # 0: as many as fit; 18 keeps the trays of an NVL72 rack on leaves of their own


DEFAULTS = Options()


def design(
    kind: Kind | str,
    nodes: int,
    ports_per_node: int,
    switch: Switch,
    oversubscription: float = 1.0,
    options: Options = DEFAULTS,
) -> Fabric:
    """The fabric of this kind with the fewest switches.

    Raises:
        WrightError: sizes that are no sizes, a ratio below 1, or more ports than the radix can join.
    """
    kind = Kind(kind)
    _refuse_nonsense(nodes, ports_per_node, switch, oversubscription)
    _refuse_options(options)
    plane_switch = switch.split(options.planes) if options.planes > 1 else switch
    clos: Clos | None = None
    if kind is Kind.RING:
        _ring_or_refuse(nodes, ports_per_node)
    elif kind is Kind.DIRECT:
        _direct_or_refuse(nodes)
    elif kind is Kind.STAR:
        clos = _star(nodes + math.ceil(options.manager_ports / ports_per_node), ports_per_node, plane_switch)
    else:
        ports = 1 if kind is Kind.RAIL_ONLY else ports_per_node
        clos = _tree(kind, nodes, ports, plane_switch, oversubscription, options)
    manager, rails = options.manager_ports if clos else 0, ports_per_node if kind is Kind.RAIL_ONLY else 1
    rate = switch.port_bits_per_s
    return Fabric(kind, nodes, ports_per_node, rate, switch, clos, options.planes, manager, rails)


def largest(radix: int, oversubscription: float, tiers: int) -> int:
    """Ports of nodes that so many levels of switches of a radix can join."""
    if tiers == 1:
        return radix
    down, _ = uplinks_for(radix, oversubscription)
    return radix * down if tiers == 2 else radix * (radix // 2) * down


def _tree(kind: Kind, nodes: int, ports: int, switch: Switch, ratio: float, options: Options) -> Clos:
    tiers, radix, ends = options.tiers, switch.ports, nodes * ports + options.manager_ports
    if ends <= radix and tiers < 2:
        return Clos(radix, Leaves(1, 1, ports, nodes + options.manager_ports, 0))
    if kind is Kind.LEAF_SPINE:
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
    """Ports down and up that a leaf may have: where uplinks are shared, a few more may divide better."""
    down, up = uplinks_for(radix, ratio)
    more = range(up + 1, radix // 2 + 1) if ratio > 1 else ()
    return [(down, up), *((radix - extra, extra) for extra in more)]


def _leaf_layouts(
    kind: Kind, nodes: int, ports: int, sides: tuple[int, int], options: Options
) -> list[Leaves]:
    """Ways to hang the nodes on leaves, the fewest leaves for one node first."""
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
            "{rails_per_leaf} rails do not share a leaf of {down} ports down",
            rails_per_leaf=options.rails_per_leaf,
            down=down,
        )
        raise _refused(
            "fabric-kind",
            message,
            _("take a divisor of {ports} ports that fits into {down}", ports=ports, down=down),
        )
    if kind is Kind.RAIL:
        # a leaf for each rail; where so few nodes leave half of it empty, two rails share a leaf, or four
        return [next((layout for layout in layouts if layout.units == 1), layouts[-1])]
    return layouts


def _star(places: int, ports: int, switch: Switch) -> Clos:
    """One switch, or as few as it takes around one in the middle."""
    radix = switch.ports
    if places * ports <= radix:
        return Clos(radix, Leaves(1, 1, ports, places, 0))
    for count in range(2, radix + 1):
        uplinks = min(radix // count, radix - 1)
        nodes_per_leaf = (radix - uplinks) // ports
        if nodes_per_leaf and count * nodes_per_leaf >= places:
            return Clos(radix, Leaves(1, count, ports, nodes_per_leaf, uplinks), 1, 1, uplinks)
    message = _(
        "{places} ports are more than a star of {title} switches joins",
        places=places * ports,
        title=switch.title,
    )
    raise _refused(
        "fabric-too-large", message, "take --kind leaf-spine or fat-tree, or a switch with more ports"
    )


def _refuse_nonsense(nodes: int, ports: int, switch: Switch, ratio: float) -> None:
    for name, value in (("nodes", nodes), ("ports of a node", ports), ("ports of a switch", switch.ports)):
        if value <= 0:
            raise _refused(
                "fabric-size",
                _("{name}: {value} is no size", name=name, value=value),
                _("give 1 or more {name}", name=name),
            )
    if switch.port_bits_per_s <= 0:
        raise _refused("fabric-size", _("a port without a rate"), _("give one: 64x400G"))
    if not 1 <= ratio <= switch.ports - 1:
        message = _(
            "an oversubscription of {ratio:g} to 1 cannot be built from {ports} ports",
            ratio=ratio,
            ports=switch.ports,
        )
        fix = _(
            "give the ports down over the ports up, 1 (nothing is shared) to {ports}", ports=switch.ports - 1
        )
        raise _refused("fabric-oversubscription", message, fix)


def _refuse_options(options: Options) -> None:
    bounds = (
        ("levels", options.tiers, 0, 3),
        ("planes", options.planes, 1, 8),  # a port has eight lanes at most
        ("ports of the manager", options.manager_ports, 0, 64),
        ("rails of a leaf", options.rails_per_leaf, 0, 1024),
        ("nodes of a leaf", options.nodes_per_leaf, 0, 1024),
    )
    for name, value, least, most in bounds:
        if not least <= value <= most:
            raise _refused(
                "fabric-size",
                _("{name}: {value} cannot be", name=name, value=value),
                _("give {least} to {most}", least=least, most=most),
            )


def _ring_or_refuse(nodes: int, ports: int) -> None:
    if ports < 2 or nodes < 3:
        message = _(
            "{nodes} nodes with {ports} port{value} each do not close a ring",
            nodes=nodes,
            ports=ports,
            value="s" * (ports > 1),
        )
        raise _refused("fabric-kind", message, _("a ring needs 3 nodes or more, each with 2 ports or more"))


def _direct_or_refuse(nodes: int) -> None:
    if nodes != 2:
        message = _("{nodes} nodes are not joined port to port", nodes=nodes)
        raise _refused("fabric-kind", message, _("direct is for 2 nodes; take star or leaf-spine"))


def _too_large(ports: int, switch: Switch, ratio: float, tiers: int) -> WrightError:
    limit = largest(switch.ports, ratio, tiers or 3)
    levels = f"{tiers or 3} level{'s' * (tiers != 1)}"
    message = _(
        "{ports} ports are more than {levels} of {title} switches join: {limit}",
        ports=ports,
        levels=levels,
        title=switch.title,
        limit=limit,
    )
    fix = _("take a switch with more ports, fewer ports per node, ") + (
        _("more levels") if 0 < tiers < 3 else _("two planes, or split the cluster")
    )
    return _refused("fabric-too-large", message, fix)


def _refused(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)
