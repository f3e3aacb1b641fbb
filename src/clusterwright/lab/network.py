"""The networks of a lab: one bridge each, one network namespace per host, links shaped in both directions.

A namespace outlives its host's processes: when a host is killed its links go down first, so that no peer
gets a FIN or RST, as with a power cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from ipaddress import IPv4Network
from typing import Any

from clusterwright.edge.processes import CommandResult, run
from clusterwright.errors import Finding, WrightError
from clusterwright.i18n import _
from clusterwright.lab.layout import LabHost, LabLayout, Link

# tc-tbf(8): the bucket must hold at least rate/HZ, and a segment of 64 KiB as the kernel passes them on
SMALLEST_BURST_BYTES = 128 * 1024
HZ = 250
QUEUE_MS = 50  # a switch port's buffer, roughly; longer only adds delay


def shape(link: Link, device: str, rate_bits_per_s: int) -> str:
    """Return the `tc -batch` line that limits the rate of one direction of a link, that of `device`."""
    burst = max(SMALLEST_BURST_BYTES, rate_bits_per_s // 8 // HZ * 2, 2 * link.mtu)
    return f"qdisc replace dev {device} root tbf rate {rate_bits_per_s}bit burst {burst} latency {QUEUE_MS}ms"


def bridges(layout: LabLayout) -> list[str]:
    """Return `ip -batch` lines that create the lab's bridges and namespaces, with every link between them."""
    lines = []
    for bridge in layout.bridges:
        lines.append(f"link add {bridge.name} mtu {bridge.mtu} type bridge forward_delay 0 stp_state 0")
        lines.append(f"link set {bridge.name} addrgenmode none")
        if bridge.address:
            lines.append(f"addr add {bridge.address} dev {bridge.name}")
        lines.append(f"link set {bridge.name} up")
    for host in layout.hosts:
        lines.append(f"netns add {host.namespace}")
        for link in host.links:
            lines.append(
                f"link add {link.outside} mtu {link.mtu} type veth"
                f" peer name {link.network} mtu {link.mtu} netns {host.namespace}"
            )
            lines.append(f"link set {link.outside} addrgenmode none master {link.bridge} up")
    return lines


def inside(host: LabHost) -> list[str]:
    """Return `ip -n NAMESPACE -batch` lines that configure the host's interfaces before it boots."""
    lines = ["link set lo up"]
    for link in host.links:
        lines += [f"addr add {link.address} dev {link.network}", f"link set {link.network} up"]
    return lines


def make(layout: LabLayout) -> None:
    """Create the lab's bridges, network namespaces and links, and limit their rates to those of the cluster file."""
    _batch(("ip", "-batch", "-"), bridges(layout))
    outward = [
        shape(link, link.outside, link.rate_bits_per_s) for host in layout.hosts for link in host.links
    ]
    _batch(("tc", "-batch", "-"), outward)
    for host in layout.hosts:
        _batch(("ip", "-n", host.namespace, "-batch", "-"), inside(host))
        inward = [shape(link, link.network, link.rate_bits_per_s) for link in host.links]
        _batch(("tc", "-n", host.namespace, "-batch", "-"), inward)


def reshape(host: LabHost, link: Link, rate_bits_per_s: int) -> None:
    """Set another rate of one link in both directions."""
    _batch(("tc", "-batch", "-"), [shape(link, link.outside, rate_bits_per_s)])
    _batch(("tc", "-n", host.namespace, "-batch", "-"), [shape(link, link.network, rate_bits_per_s)])


def set_links(links: Iterable[Link], *, up: bool) -> None:
    """Set the links up, or down: then all their packets are lost silently."""
    _batch(("ip", "-batch", "-"), [f"link set {link.outside} {'up' if up else 'down'}" for link in links])


def remove(layout: LabLayout) -> None:
    """Remove the lab's links, network namespaces and bridges; those that are missing are skipped."""
    spaces = namespaces()
    lines = [f"netns del {host.namespace}" for host in layout.hosts if host.namespace in spaces]
    remove_links(layout.hosts)  # deleting a namespace removes its links only a moment later
    present = _links()
    lines += [f"link del {bridge.name}" for bridge in layout.bridges if bridge.name in present]
    _batch(("ip", "-force", "-batch", "-"), lines, strict=False)


def remove_links(hosts: Iterable[LabHost]) -> None:
    """Remove the hosts' links at once: no peer receives packets from the hosts any more."""
    present = _links()
    ends = [link.outside for host in hosts for link in host.links if link.outside in present]
    _batch(("ip", "-force", "-batch", "-"), [f"link del {end}" for end in ends], strict=False)


def find_leftovers(layout: LabLayout) -> list[str]:
    """Return a text for each bridge, link and network namespace of the lab that still exists; empty if none does."""
    present, spaces = _links(), namespaces()
    ends = [link.outside for host in layout.hosts for link in host.links]
    devices = [name for name in (*(bridge.name for bridge in layout.bridges), *ends) if name in present]
    return [_("device {name}", name=name) for name in devices] + [
        _("network namespace {namespace}", namespace=host.namespace)
        for host in layout.hosts
        if host.namespace in spaces
    ]


def namespaces() -> set[str]:
    """Return the named network namespaces of this machine."""
    return {row["name"] for row in json.loads(run(("ip", "-json", "netns", "list")).out or "[]")}


def machine_networks() -> dict[str, str]:
    """Return the networks in which this machine has an address or a route; the values say which."""
    addresses = json.loads(run(("ip", "-json", "-4", "addr")).out or "[]")
    routes = json.loads(run(("ip", "-json", "-4", "route", "show", "table", "all")).out or "[]")
    return networks_of(addresses, routes)


def networks_of(addresses: list[dict[str, Any]], routes: list[dict[str, Any]]) -> dict[str, str]:
    """Return the networks that this machine uses, each with a text that names its owner.

    They are parsed from `ip -json addr` and `ip -json route`, without the default route, which covers all.
    """
    networks: dict[str, str] = {}
    for row in routes:
        if row.get("dst") != "default" and row.get("type", "unicast") == "unicast":
            networks[str(row["dst"])] = _(
                "a route of this machine through {device}", device=row.get("dev", row.get("gateway", "?"))
            )
    for device in addresses:
        for entry in device.get("addr_info", []):
            network = IPv4Network(f"{entry['local']}/{entry['prefixlen']}", strict=False)
            networks[str(network)] = _(
                "address {address} of {device}", address=entry["local"], device=device["ifname"]
            )
    return networks


def clashes(layout: LabLayout, used_subnets: dict[str, str]) -> tuple[Finding, ...]:
    """Return a finding for each pair of a lab's subnet and a used one that overlap; empty if none do."""
    return tuple(
        Finding(
            "lab-subnet-in-use",
            _(
                "lab `{lab}`: {network} subnet {subnet} overlaps {other}, {owner}",
                lab=layout.name,
                network=bridge.network,
                subnet=bridge.subnet,
                other=subnet,
                owner=owner,
            ),
            _(
                "choose another subnet in the cluster file, or remove the interface or route that uses this one"
            ),
        )
        for bridge in layout.bridges
        for subnet, owner in used_subnets.items()
        if IPv4Network(subnet).overlaps(IPv4Network(bridge.subnet))
    )


def _links() -> set[str]:
    return {row["ifname"] for row in json.loads(run(("ip", "-json", "link")).out or "[]")}


def _batch(argv: tuple[str, ...], lines: list[str], *, strict: bool = True) -> CommandResult | None:
    if not lines:
        return None
    result = run(argv, stdin=("\n".join(lines) + "\n").encode())
    if strict and not result.ok:
        raise WrightError.from_code(
            "lab-network",
            _("`{argv}` failed: {last_lines}", argv=" ".join(argv), last_lines=result.last_lines()),
            _("remove the rest of the lab with `wright lab down`, fix the cause, then run the command again"),
        )
    return result
