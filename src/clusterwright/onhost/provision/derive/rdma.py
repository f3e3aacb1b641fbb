"""The RDMA ports of this host as the kernel shows them, and which of them a network of the cluster file means.

Standard library only, Python 3.6 or later. A device is never known by its name: what counts are its link layer, the
addresses of its interface, its rate, and what the file names.
"""

import ipaddress
import json
import os
import re
from typing import Dict, List, NamedTuple

from clusterwright.onhost.provision.host import Host, Json, read, run

TREE = "/sys/class/infiniband"
LAYER = {"infiniband": "InfiniBand", "roce": "Ethernet"}  # by networks.NAME.kind: as the kernel calls it
ADAPTER = "CA"  # of node_type; RNIC is iWARP, which NCCL does not speak (`1: CA` in sysfs-class-infiniband)
V2 = "RoCE v2"
RATE = re.compile(r"([\d.]+) Gb/sec")


class Gid(NamedTuple):
    """One address of a port; `ipv4` is empty where it is no mapped one."""

    gid_index: int
    kind: str
    ipv4: str


class Port(NamedTuple):
    """One port; `place` is the device's in the PCI tree, by which rails are ordered."""

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
        """As NCCL_IB_HCA and UCX_NET_DEVICES have it: `mlx5_0:1`."""
        return f"{self.device}:{self.number}"


def text_of(host: Host, *parts: str) -> str:
    """A file's text, or nothing: some entries answer with an error when they are not in use."""
    try:
        return (read(host.resolve_path("/".join(parts))) or b"").decode(errors="replace").strip()
    except OSError:
        return ""


def listed(host: Host, *parts: str) -> List[str]:
    """What is in a folder, numbers in their order."""
    try:
        return sorted(os.listdir(host.resolve_path("/".join(parts))), key=lambda name: (len(name), name))
    except OSError:
        return []


def interfaces(notes: List[str]) -> Dict[str, List[str]]:
    """The IPv4 addresses of each interface, as `ip` says them."""
    result = run(["ip", "-j", "-4", "address"])
    try:
        rows = json.loads(result.out or "[]") if result.code == 0 else None
    except ValueError:
        rows = None
    if rows is None:
        notes.append(f"`ip -j -4 address` says nothing here: {result.out.strip()[:100]}")
    return {
        row["ifname"]: [entry["local"] for entry in row["addr_info"] if entry["family"] == "inet"]
        for row in rows or ()
        if "ifname" in row
    }


def ports(host: Host, addresses: Dict[str, List[str]]) -> List[Port]:
    """Every port of every device, in the order of the PCI tree."""
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


def port(host: Host, device: str, number: str, addresses: Dict[str, List[str]]) -> Port:
    """One port."""
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


def gids_of(host: Host, port_path: str) -> List[Gid]:
    """The addresses of a port that are in use."""
    gids = []
    for index in listed(host, port_path, "gids"):
        gid = text_of(host, port_path, "gids", index)
        if gid and not gid.endswith(":0000:0000:0000:0000"):
            mapped = ipaddress.IPv6Address(gid).ipv4_mapped
            kind = text_of(host, port_path, "gid_attrs/types", index)
            gids.append(Gid(int(index), kind, str(mapped) if mapped else ""))
    return gids


def of_network(all_ports: List[Port], network: Json, notes: List[str]) -> List[Port]:
    """The ports that the network means, sorted by rail; what cannot be told is left out and said."""
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
                f"{', '.join(rdma_port.name for rdma_port in unassigned)}: which "
                f"of them are on the {name} network cannot be told; "
                f"give their interfaces addresses in {network['subnet']}, or name them in "
                f"nodes.{network['group']}.nics"
            )
        on = [rdma_port for rdma_port in fitting if rdma_port in on or rdma_port in inferred_ports]
    counted(on, fitting, all_ports, network, notes)
    return on


def named(fitting: List[Port], network: Json, notes: List[str]) -> List[Port]:
    """Those that the file names, in its order."""
    by_name = {}  # type: Dict[str, Port]
    for rdma_port in fitting:
        by_name.setdefault(rdma_port.device, rdma_port)
        by_name[rdma_port.name] = rdma_port
    missing = [nic for nic in network["nics"] if nic not in by_name]
    if missing:
        has = ", ".join(rdma_port.name for rdma_port in fitting) or "none"
        notes.append(
            f"nodes.{network['group']}.nics names {', '.join(missing)}, which this host has not as a port of "
            f"kind {network['kind']} (it has: {has}); the others are used"
        )
    return [by_name[nic] for nic in network["nics"] if nic in by_name]


def is_in(rdma_port: Port, subnets: List[str]) -> bool:
    """True when the port, or its interface, has an address in one of them."""
    networks = [ipaddress.ip_network(subnet) for subnet in subnets]
    return any(
        ipaddress.ip_address(address) in subnet for address in rdma_port.addresses for subnet in networks
    )


def counted(
    on: List[Port], fitting: List[Port], all_ports: List[Port], network: Json, notes: List[str]
) -> None:
    """Too few or too many are named, and those that cannot carry data now."""
    name, kind, rails = network["name"], network["kind"], network["rails"]
    other_names = [rdma_port.name for rdma_port in all_ports if rdma_port not in fitting]
    if len(on) != rails:
        suffix = f"; of another kind: {', '.join(other_names)}" if other_names else ""
        which = ", ".join(rdma_port.name for rdma_port in on) or "none"
        notes.append(
            f"{len(on)} {kind} ports on the {name} network ({which}), and networks.{name}.rails is {rails}{suffix}"
        )
    down = [rdma_port.name for rdma_port in on if not rdma_port.active]
    if down:
        notes.append(
            f"{', '.join(down)} on the {name} network is not active: see `ibstat` or `ip link` there"
        )
