"""The RDMA ports of this host from sysfs, and their assignment to networks of the cluster file.

Standard library only, Python 3.6 or later. A port is assigned by link layer, the addresses of its interface, its rate
and `nics` of the cluster file, not by its device name.
"""

import ipaddress
import json
import os
import re
from typing import Dict, List, NamedTuple

from clusterwright.onhost.provision.host import Json, LocalHost, read, run

TREE = "/sys/class/infiniband"
LAYER = {"infiniband": "InfiniBand", "roce": "Ethernet"}  # the kernel's name, by networks.NAME.kind
ADAPTER = "CA"  # of node_type (`1: CA` in sysfs-class-infiniband); RNIC is iWARP, which NCCL does not support
V2 = "RoCE v2"
RATE = re.compile(r"([\d.]+) Gb/sec")


class Gid(NamedTuple):
    """One GID (RDMA address) of a port; `ipv4` is empty unless it is an IPv4-mapped address."""

    gid_index: int
    kind: str
    ipv4: str


class Port(NamedTuple):
    """One port of an RDMA device; `pci_address` orders the rails, `guest` is True for a virtual function."""

    device: str
    number: int
    node: str
    layer: str
    active: bool
    gbits: float
    pci_address: str
    guest: bool
    interfaces: List[str]
    addresses: List[str]
    gids: List[Gid]

    @property
    def name(self) -> str:
        """Return the port's name in NCCL_IB_HCA and UCX_NET_DEVICES: `mlx5_0:1`."""
        return f"{self.device}:{self.number}"


def text_of(host: LocalHost, *parts: str) -> str:
    """Return the file's text without spaces around it; "" if it is missing, or reading fails, as for unused ones."""
    try:
        return (read(host.resolve_path("/".join(parts))) or b"").decode(errors="replace").strip()
    except OSError:
        return ""


def listed(host: LocalHost, *parts: str) -> List[str]:
    """Return the names in a folder, numbers in numeric order; empty if it cannot be read."""
    try:
        return sorted(os.listdir(host.resolve_path("/".join(parts))), key=lambda name: (len(name), name))
    except OSError:
        return []


def interfaces(notes: List[str]) -> Dict[str, List[str]]:
    """Return the IPv4 addresses of each interface, from `ip`; empty, with its error added to `notes`, if it fails."""
    result = run(["ip", "-j", "-4", "address"])
    try:
        rows = json.loads(result.out or "[]") if result.code == 0 else None
    except ValueError:
        rows = None
    if rows is None:
        notes.append(f"`ip -j -4 address` failed: {result.out.strip()[:100]}")
    return {
        row["ifname"]: [entry["local"] for entry in row["addr_info"] if entry["family"] == "inet"]
        for row in rows or ()
        if "ifname" in row
    }


def ports(host: LocalHost, addresses: Dict[str, List[str]]) -> List[Port]:
    """Return every port of every RDMA device of this host from sysfs, in PCI order."""
    all_ports = [
        port(host, device, number, addresses)
        for device in listed(host, TREE)
        for number in listed(host, TREE, device, "ports")
    ]
    return sorted(
        all_ports,
        key=lambda rdma_port: (
            rdma_port.pci_address,
            len(rdma_port.device),
            rdma_port.device,
            rdma_port.number,
        ),
    )


def port(host: LocalHost, device: str, number: str, addresses: Dict[str, List[str]]) -> Port:
    """Return one port of an RDMA device from sysfs; `addresses` are those of the interfaces."""
    device_path, port_path = f"{TREE}/{device}", f"{TREE}/{device}/ports/{number}"
    places = os.path.realpath(host.resolve_path(device_path + "/device"))
    gids = gids_of(host, port_path)
    names = [text_of(host, port_path, "gid_attrs/ndevs", str(gid.gid_index)) for gid in gids]
    names += listed(host, device_path, "device/net")
    names = [name for name in dict.fromkeys(names) if name]
    rate = RATE.match(text_of(host, port_path, "rate"))
    state = text_of(host, port_path, "state").rpartition(": ")[2]
    return Port(
        device=device,
        number=int(number),
        node=text_of(host, device_path, "node_type").rpartition(": ")[2],
        layer=text_of(host, port_path, "link_layer"),
        active=state == "ACTIVE",
        gbits=float(rate.group(1)) if rate else 0.0,
        pci_address=os.path.basename(places) if re.search(r":[0-9a-f]{2}\.\d$", places) else "",
        guest=os.path.exists(host.resolve_path(device_path + "/device/physfn")),
        interfaces=names,
        addresses=[address for name in names for address in addresses.get(name, ())]
        + [gid.ipv4 for gid in gids if gid.ipv4],
        gids=gids,
    )


def gids_of(host: LocalHost, port_path: str) -> List[Gid]:
    """Return the GIDs of an RDMA port that are in use: index, type, and the IPv4 address that they map."""
    gids = []
    for index in listed(host, port_path, "gids"):
        gid = text_of(host, port_path, "gids", index)
        if gid and not gid.endswith(":0000:0000:0000:0000"):
            mapped = ipaddress.IPv6Address(gid).ipv4_mapped
            kind = text_of(host, port_path, "gid_attrs/types", index)
            gids.append(Gid(int(index), kind, str(mapped) if mapped else ""))
    return gids


def of_network(all_ports: List[Port], network: Json, notes: List[str]) -> List[Port]:
    """Return the ports on the network by rail; add a note if it is not clear which ports are, or their number differs.

    Ports without an address of another network count as the network's where that is the only possible assignment.
    """
    name, rails = network["name"], network["rails"]
    fitting = [
        rdma_port
        for rdma_port in all_ports
        if rdma_port.layer == LAYER.get(network["kind"]) and rdma_port.node == ADAPTER
    ]
    if network["nics"]:
        return named(fitting, network, notes)
    on = [rdma_port for rdma_port in fitting if is_in(rdma_port, [network["subnet"]])]
    unassigned = [
        rdma_port
        for rdma_port in fitting
        if not rdma_port.guest and not is_in(rdma_port, [network["subnet"], *network["others"]])
    ]
    fast = [rdma_port for rdma_port in unassigned if rdma_port.gbits >= network["gbits"]]
    if len(on) < rails and unassigned:
        inferred_ports = (
            unassigned if len(on) + len(unassigned) <= rails else fast if len(on) + len(fast) == rails else []
        )
        if not inferred_ports:
            notes.append(
                f"{', '.join(rdma_port.name for rdma_port in unassigned)}: not clear which "
                f"of them are on the {name} network. "
                f"Give their interfaces addresses in {network['subnet']}, or list them in "
                f"nodes.{network['group']}.nics"
            )
        on = [rdma_port for rdma_port in fitting if rdma_port in on or rdma_port in inferred_ports]
    counted(on, fitting, all_ports, network, notes)
    return on


def named(fitting: List[Port], network: Json, notes: List[str]) -> List[Port]:
    """Return the ports that the cluster file's `nics` lists, in that order; add a note for missing ones."""
    by_name = {}  # type: Dict[str, Port]
    for rdma_port in fitting:
        by_name.setdefault(rdma_port.device, rdma_port)
        by_name[rdma_port.name] = rdma_port
    missing = [nic for nic in network["nics"] if nic not in by_name]
    if missing:
        has = ", ".join(rdma_port.name for rdma_port in fitting) or "none"
        notes.append(
            f"nodes.{network['group']}.nics lists {', '.join(missing)}, but this host has no such port of "
            f"kind {network['kind']} (it has: {has}); the others are used"
        )
    return [by_name[nic] for nic in network["nics"] if nic in by_name]


def is_in(rdma_port: Port, subnets: List[str]) -> bool:
    """Return True if a GID of the port or its interface has an IPv4 address in one of the subnets."""
    networks = [ipaddress.ip_network(subnet) for subnet in subnets]
    return any(
        ipaddress.ip_address(address) in subnet for address in rdma_port.addresses for subnet in networks
    )


def counted(
    on: List[Port], fitting: List[Port], all_ports: List[Port], network: Json, notes: List[str]
) -> None:
    """Append notes if the number of ports on a network is not that of its rails, or ports on it are not active."""
    name, kind, rails = network["name"], network["kind"], network["rails"]
    other_names = [rdma_port.name for rdma_port in all_ports if rdma_port not in fitting]
    if len(on) != rails:
        suffix = f"; of another kind: {', '.join(other_names)}" if other_names else ""
        which = ", ".join(rdma_port.name for rdma_port in on) or "none"
        notes.append(
            f"{kind} ports on the {name} network: {len(on)} ({which}), but networks.{name}.rails is {rails}{suffix}"
        )
    down = [rdma_port.name for rdma_port in on if not rdma_port.active]
    if down:
        notes.append(
            f"{', '.join(down)} on the {name} network is not active. Check `ibstat` and `ip link` on this host"
        )
