"""The services of each host and their permitted clients: the table from which all firewall rules are rendered.

All other input is dropped. Forwarded packets are not filtered, so container bridges work as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Literal

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.memoize import cache_per_instance
from clusterwright.config.networks import NetworkName
from clusterwright.config.storage import Beegfs, Gpfs, Lustre, Nfs
from clusterwright.provision.render.slurm_settings import CONTROL_PORT, NODE_PORT

ACCOUNTING_PORT = 6819  # slurmdbd.conf(5), DbdPort
EXPORTER_PORT = 9100  # node_exporter's registered default
CLUSTER_EXPORTER_PORT = 9105  # ours; in Prometheus's list of default ports no exporter of such hosts has it
NFS_PORT = 2049  # NFSv4 needs no other
BEEGFS_PORT = 8004  # connClientPort (BeeGFS, network ports)
TIME_PORT = 123  # RFC 5905
LUSTRE_PORT = 988  # Lustre manual, "accept_port": servers open connections to clients as well
GPFS_PORT = 1191  # IBM Storage Scale, "tscTcpPort": every daemon talks to every other
FREE_PORTS = (1024, 65535)  # ports that a user's process may bind (ip(7), ip_unprivileged_port_start)

# Host roles of each set of peers.
ROLES = {
    "hosts": ("control", "compute", "login"),
    "compute": ("compute",),
    "daemons": ("control", "compute"),
    "front": ("control", "login"),
    "control": ("control",),
}

Range = tuple[IPv4Address, IPv4Address]


@dataclass(frozen=True, slots=True)
class Peers:
    """The clients of a service: the name of their address set, and their address ranges.

    No ranges: any address that is not in a cluster network other than management.
    """

    name: str
    ranges: tuple[Range, ...]

    def contains(self, address: IPv4Address) -> bool:
        """Return whether the address is in one of the ranges; False without ranges, which mean any client."""
        return any(first_address <= address <= last for first_address, last in self.ranges)


@dataclass(frozen=True, slots=True)
class Opening:
    """A service that a host offers: ports, local addresses, network, peers and the reason."""

    service: str
    protocol: Literal["tcp", "udp"]
    ports: tuple[int, int]
    network: NetworkName
    to: IPv4Address | IPv4Network
    peers: Peers
    reason: str


def openings(cluster: Cluster, host: Host) -> tuple[Opening, ...]:
    """Return all services that the host offers, each with its permitted clients, in a fixed order.

    A service without any permitted client is left out.
    """
    rows = (
        _ssh(cluster, host),
        *_slurm(cluster, host),
        *_trainings(cluster, host),
        *_services(cluster, host),
    )
    return tuple(row for row in rows if row.peers.ranges or row.peers.name == "anyone")


def non_management_networks(cluster: Cluster) -> tuple[IPv4Network, ...]:
    """Return the cluster's networks except management; from them, services open to `anyone` are not reachable."""
    named = cluster.networks.named()
    return tuple(network.subnet for name, network in named.items() if name != "management")


def single_rail_networks(cluster: Cluster, host: Host) -> tuple[IPv4Network, ...]:
    """Return the networks that reach this host through one interface, so that spoofed addresses can be detected."""
    named = cluster.networks.named()
    return tuple(named[name].subnet for name in host.addresses if name in named and named[name].rails == 1)


def lets_in(cluster: Cluster, host: Host, source: str, port: int) -> bool:
    """Return whether a TCP connection from the address to the host's management address is allowed; False for IPv6."""
    try:
        address = IPv4Address(source)
    except ValueError:
        return False
    return any(
        row.protocol == "tcp"
        and (host.management in row.to if isinstance(row.to, IPv4Network) else host.management == row.to)
        and row.ports[0] <= port <= row.ports[1]
        and (row.peers.contains(address) or (not row.peers.ranges and _outside(cluster, address)))
        for row in openings(cluster, host)
    )


def _outside(cluster: Cluster, address: IPv4Address) -> bool:
    return not any(address in subnet for subnet in non_management_networks(cluster))


def _ssh(cluster: Cluster, host: Host) -> Opening:
    """Return the opening for SSH on management; `ssh_from` limits clients outside the cluster, not cluster hosts."""
    peers = Peers("anyone", ())
    if cluster.security.ssh_from:
        nets = [_span(subnet) for subnet in cluster.security.ssh_from]
        peers = Peers("ssh_from", join_ranges([*nets, *_hosts(cluster, "hosts", "management").ranges]))
    return Opening("ssh", "tcp", (cluster.ssh.port,) * 2, "management", host.management, peers, "SSH")


def _slurm(cluster: Cluster, host: Host) -> Iterator[Opening]:
    role, to = host.group.role, host.management
    every = _hosts(cluster, "hosts", "management")
    if role == "control":
        yield _tcp("slurmctld", CONTROL_PORT, to, every, "commands and slurmd; configless files too")
    if role == "compute":
        yield _tcp("slurmd", NODE_PORT, to, every, "slurmctld, srun, and slurmd's own tree")
    if cluster.accountant is not None and host.name == cluster.accountant.name:
        asking = _hosts(cluster, "front", "management")
        yield _tcp("slurmdbd", ACCOUNTING_PORT, to, asking, "slurmctld, and sacct where users are")
    peers = _hosts(cluster, "daemons", "management")
    reason = "srun and salloc listen for slurmctld and their steps (SrunPortRange)"
    yield Opening("srun", "tcp", cluster.slurm.ports, "management", to, peers, reason)


def _trainings(cluster: Cluster, host: Host) -> Iterator[Opening]:
    """Yield openings between compute hosts: gradients on the compute network, rendezvous by host name on management.

    Nothing for other hosts; on networks with several rails, the whole subnet is opened.
    """
    if host.group.role != "compute":
        return
    names: tuple[tuple[NetworkName, str], ...] = (
        ("compute", "Gloo and NCCL take any free port"),
        ("management", "torchrun, PMIx and our supervisor meet by host name, on any free port"),
    )
    for network, reason in names:
        if network not in host.addresses:
            continue
        is_multi_rail = cluster.networks.named()[network].rails > 1
        subnet = cluster.networks.named()[network].subnet
        to = subnet if is_multi_rail else host.addresses[network]
        peers = _hosts(cluster, "compute", network)
        if is_multi_rail:  # the cluster file has the address of the first rail only
            peers = Peers(f"subnet_{network}", (_span(subnet),))
        protocols: tuple[Literal["tcp", "udp"], ...] = ("tcp", "udp") if network == "compute" else ("tcp",)
        for protocol in protocols:
            for ports in _free_ports(cluster, network):
                yield Opening("trainings", protocol, ports, network, to, peers, reason)


def _free_ports(cluster: Cluster, network: NetworkName) -> tuple[tuple[int, int], ...]:
    """Return the ports of trainings: all that users may bind, on management without the exporter's own."""
    if network != "management" or not cluster.monitoring.exporter:
        return (FREE_PORTS,)
    first, last = FREE_PORTS
    return (first, CLUSTER_EXPORTER_PORT - 1), (CLUSTER_EXPORTER_PORT + 1, last)


def _services(cluster: Cluster, host: Host) -> Iterator[Opening]:
    management = host.management
    every = _hosts(cluster, "hosts", "management")
    if host.group.role == "control":
        reason = "hosts synchronize their clocks with the control hosts"
        yield Opening("time", "udp", (TIME_PORT, TIME_PORT), "management", management, every, reason)
    if cluster.monitoring.node_exporter:
        subnet = Peers("subnet_management", (_span(cluster.networks.management.subnet),))
        yield _tcp("node_exporter", EXPORTER_PORT, management, subnet, "host metrics")
    if cluster.monitoring.exporter:
        asking = _hosts(cluster, "control", "management")
        yield _tcp("exporter", CLUSTER_EXPORTER_PORT, management, asking, "metrics of GPUs, jobs and Slurm")
    yield from _storage(cluster, host)


def _storage(cluster: Cluster, host: Host) -> Iterator[Opening]:
    """Yield openings for the storage of the file, on the storage network if the host has it, else on management."""
    network: NetworkName = "storage" if "storage" in host.addresses else "management"
    to, subnet = host.addresses[network], cluster.networks.named()[network].subnet
    subnet_peers = Peers(f"subnet_{network}", (_span(subnet),))
    folders = cluster.storage.values()
    if any(isinstance(folder, Nfs) and folder.server == host.name for folder in folders):
        clients = _hosts(cluster, "hosts", network)
        yield _tcp("nfs", NFS_PORT, to, clients, "shared folders", network)
    if any(isinstance(folder, Lustre) for folder in folders):
        yield _tcp("lustre", LUSTRE_PORT, to, subnet_peers, "its servers connect back", network)
    if any(isinstance(folder, Beegfs) for folder in folders):
        port, reason = (BEEGFS_PORT, BEEGFS_PORT), "its servers answer and call back by datagrams"
        yield Opening("beegfs", "udp", port, network, to, subnet_peers, reason)
    if any(isinstance(folder, Gpfs) for folder in folders):
        yield _tcp("gpfs", GPFS_PORT, to, subnet_peers, "its daemons connect to each other", network)


def _tcp(
    service: str, port: int, to: IPv4Address, peers: Peers, reason: str, network: NetworkName = "management"
) -> Opening:
    return Opening(service, "tcp", (port, port), network, to, peers, reason)


@cache_per_instance
def _hosts(cluster: Cluster, role_group: str, network: NetworkName) -> Peers:
    """Return the addresses on a network of the hosts in `role_group` (a key of ROLES) as peers."""
    roles = ROLES[role_group]
    hosts = (host for host in cluster.hosts() if host.group.role in roles)
    spans = [(host.addresses[network],) * 2 for host in hosts if network in host.addresses]
    return Peers(f"{role_group}_{network}", join_ranges(spans))


def _span(subnet: IPv4Network) -> Range:
    return (subnet[0], subnet[-1])


def format_range(span: Range) -> str:
    """Return the addresses as nft writes them, `10.0.0.1-10.0.0.9`; a single address alone."""
    first_address, last = span
    return str(first_address) if first_address == last else f"{first_address}-{last}"


def join_ranges(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Return the sorted addresses with adjacent and overlapping ones merged: 1,024 consecutive hosts are one range."""
    spans: list[Range] = []
    for first_address, last in sorted(ranges):
        if spans and int(first_address) <= int(spans[-1][1]) + 1:
            spans[-1] = (spans[-1][0], max(spans[-1][1], last))
        else:
            spans.append((first_address, last))
    return tuple(spans)
