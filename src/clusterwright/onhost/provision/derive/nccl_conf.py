"""Derives /etc/nccl.conf: interface and adapters of this host by name, and the settings of the fabric.

Standard library only, Python 3.6 or later. The variables are those of NCCL's user guide.
"""

import ipaddress
from typing import Dict, List, Optional, Tuple

from clusterwright.onhost.provision.derive.rdma import V2, Port, interfaces, of_network, ports
from clusterwright.onhost.provision.derive.topology import pairs
from clusterwright.onhost.provision.host import Json, LocalHost

SINCE_DYNAMIC = (
    2,
    21,
)  # NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE, NCCL_IB_ROCE_VERSION_NUM (user guide: since 2.21)
Rows = List[Tuple[str, str, str]]  # name, value, why


def text(host: LocalHost, params: Json, notes: List[str]) -> Optional[str]:
    """Return the text of nccl.conf, derived from this host: variables, each with its reason; never None.

    The cluster file's variables follow, and replace derived ones of the same name. What could not be derived is
    appended to
    `notes`.
    """
    addresses = interfaces(notes)
    rows = socket(params, addresses, notes)
    network = params["network"]
    if network:
        all_ports = ports(host, addresses)
        on = of_network(all_ports, network, notes)
        rows += adapters(on, params, notes) if on else no_adapters(all_ports, network, notes)
    if params["topology"] and pairs(host):
        rows.append(("NCCL_TOPO_FILE", params["topology"], "PCI paths between GPUs and adapters."))
    variables = params["variables"]
    lines = [f"\n# {reason}\n{name}={value}\n" for name, value, reason in rows if name not in variables]
    variable_lines = "".join(f"{name}={value}\n" for name, value in variables.items())
    reason = str(params["reason"])
    return (
        reason
        + "".join(lines)
        + (f"\n# The cluster file's jobs.variables.\n{variable_lines}" if variable_lines else "")
    )


def socket(params: Json, addresses: Dict[str, List[str]], notes: List[str]) -> Rows:
    """Return NCCL_SOCKET_IFNAME: the interface with the host's address; none, with a note, if no interface has it.

    The prefix `=` makes NCCL match the whole name.
    """
    for name, address in params["addresses"].items():
        links = sorted(link for link, local in addresses.items() if address in local)
        if links:
            reason = f"The interface that has this host's address on the {name} network."
            return [("NCCL_SOCKET_IFNAME", "=" + links[0], reason)]
    addresses_text = " or ".join(params["addresses"].values())
    notes.append(f"no interface has {addresses_text}: NCCL_SOCKET_IFNAME is not set in /etc/nccl.conf")
    return []


def adapters(on: List[Port], params: Json, notes: List[str]) -> Rows:
    """Return rows (variable, value, reason): NCCL_IB_HCA with the ports by rail; for RoCE also GID index, class, level.

    Those are the traffic class and the service level. On a rail-optimized fabric also NCCL_CROSS_NIC=0.
    """
    network, rows = params["network"], []  # type: Tuple[Json, Rows]
    exact = "=" + ",".join(rdma_port.name for rdma_port in on)
    rows.append(("NCCL_IB_HCA", exact, f"The ports on the {network['name']} network, by rail."))
    if network["kind"] == "roce":
        rows += gid_index(on, params, notes)
        roce = params["roce"]
        marked = roce["dscp"] * 4 + (2 if roce["ecn"] else 0)
        reason = f"DSCP {roce['dscp']}" + (", and ECT(0) for congestion marking" if roce["ecn"] else "")
        rows.append(("NCCL_IB_TC", str(marked), f"{reason}: rdma.roce."))
        rows.append(
            ("NCCL_IB_SL", str(roce["priority"]), "The lossless priority of the switches: rdma.roce.")
        )
    if network["fabric"] == "rail-optimized":
        reason = "Each rail has its own switches: rings stay within a rail."
        rows.append(("NCCL_CROSS_NIC", "0", reason))
    return rows


def gid_index(on: List[Port], params: Json, notes: List[str]) -> Rows:
    """Return NCCL_IB_GID_INDEX of the RoCE v2 IPv4 address; if it differs between ports, settings for NCCL to choose.

    None of them, with a note, if a port has no such GID or NCCL is too old to choose.
    """
    subnet = params["network"]["subnet"]
    index_by_port = {rdma_port.name: index_of(rdma_port, subnet) for rdma_port in on}
    missing_ports = [name for name, index in index_by_port.items() if index is None]
    if missing_ports:
        notes.append(
            f"{', '.join(missing_ports)} has no RoCE v2 GID of an IPv4 address, so NCCL_IB_GID_INDEX is not set in "
            "/etc/nccl.conf. Give its interface an IPv4 address"
        )
        return []
    indexes = set(index_by_port.values())
    if len(indexes) == 1:
        reason = "The RoCE v2 GID of the IPv4 address (`show_gids`)."
        return [("NCCL_IB_GID_INDEX", str(indexes.pop()), reason)]
    which = ", ".join(f"{name} {index}" for name, index in index_by_port.items())
    if params["nccl"] and tuple(params["nccl"]) < SINCE_DYNAMIC:
        notes.append(
            f"the RoCE v2 GID of the IPv4 address has different indexes on the ports ({which}), which NCCL before 2.21 "
            "does not support. Set a newer software.nccl, or give all ports the same number of addresses"
        )
        return []
    reason = f"The GID's index differs between ports ({which}), so NCCL selects it (2.21 and later)."
    rows = [("NCCL_IB_ROCE_VERSION_NUM", "2", reason), ("NCCL_IB_ADDR_FAMILY", "AF_INET", reason)]
    return (
        [*rows, ("NCCL_IB_ADDR_RANGE", subnet, reason)]
        if all(in_subnet(rdma_port, subnet) for rdma_port in on)
        else rows
    )


def index_of(rdma_port: Port, subnet: str) -> Optional[int]:
    """Return the index of the port's RoCE v2 GID with an IPv4 address on the network, else with any; None if none."""
    gids = [gid for gid in rdma_port.gids if gid.kind == V2 and gid.ipv4]
    network = ipaddress.ip_network(subnet)
    network_gids = [gid for gid in gids if ipaddress.ip_address(gid.ipv4) in network]
    return (network_gids or gids)[0].gid_index if gids else None


def in_subnet(rdma_port: Port, subnet: str) -> bool:
    """Return True if the IPv4 address of one of the port's RoCE v2 GIDs is in the subnet."""
    network = ipaddress.ip_network(subnet)
    return any(
        gid.kind == V2 and gid.ipv4 and ipaddress.ip_address(gid.ipv4) in network for gid in rdma_port.gids
    )


def no_adapters(all_ports: List[Port], network: Json, notes: List[str]) -> Rows:
    """Add a note that no port is on the network, so NCCL_IB_HCA is not set; return no rows."""
    has = (
        f"this host has {', '.join(rdma_port.name for rdma_port in all_ports)}"
        if all_ports
        else "this host has no RDMA device"
    )
    notes.append(
        f"{has}, and networks.{network['name']}.kind is {network['kind']}: NCCL_IB_HCA is not set in "
        "/etc/nccl.conf, and NCCL uses sockets unless it detects an adapter itself"
    )
    return []
