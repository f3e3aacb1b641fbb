"""Derive the layout of a lab from the cluster file: every name is known before anything is created."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.networks import Network, NetworkName
from clusterwright.config.storage import Nfs
from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import _
from clusterwright.lab.gpus.simulated import Simulated, simulated
from clusterwright.lab.rdma.ports import SimulatedRdma, rdma

MAX_INTERFACE_NAME = 15  # IFNAMSIZ is 16 with the terminating zero (linux/if.h)
SLOWEST_BITS_PER_S = 1_000_000  # a divisor may not slow a link below 1 Mbit/s: ssh itself would time out


@dataclass(frozen=True, slots=True)
class Bridge:
    """One network of the lab: a bridge on the machine; `address` is the machine's own, on management only."""

    name: str
    network: str
    subnet: str
    address: str
    mtu: int


@dataclass(frozen=True, slots=True)
class Link:
    """One port of a host: an interface inside, named after its network, and its other end on the bridge."""

    network: str
    outside: str
    bridge: str
    address: str
    rate_bits_per_s: int
    mtu: int


@dataclass(frozen=True, slots=True)
class LabHost:
    """One virtual host: its name, its networks and its devices."""

    name: str
    address: str
    namespace: str
    machine_id: str
    links: tuple[Link, ...]
    devices: tuple[str, ...]
    gpus: Simulated | None = None
    rdma: SimulatedRdma | None = None
    served: tuple[str, ...] = ()  # folders exported over NFS
    mounts_nfs: bool = False


@dataclass(frozen=True, slots=True)
class LabLayout:
    """A whole lab; `shared` are the folders that every host sees."""

    name: str
    bridges: tuple[Bridge, ...]
    hosts: tuple[LabHost, ...]
    shared: tuple[str, ...]

    def host(self, name: str) -> LabHost:
        """Return the lab's host of that name.

        Raises:
            WrightError: There is no such host; names the existing ones.
        """
        for host in self.hosts:
            if host.name == name:
                return host
        raise WrightError.from_code(
            "lab-unknown-host",
            _("lab `{lab}` has no host `{host}`", lab=self.name, host=name),
            unknown_name_fix(name, [host.name for host in self.hosts]),
            exit_code=EXIT_USAGE,
        )


def layout(cluster: Cluster) -> LabLayout:
    """Return the layout of the lab that the cluster file declares.

    Raises:
        WrightError: The file does not describe a lab.
    """
    if cluster.lab is None:
        raise WrightError.from_code(
            "lab-section-missing",
            _(
                "cluster `{cluster}` has no `lab:` section, so its file does not describe a lab",
                cluster=cluster.name,
            ),
            _("copy the file, change its `name:`, and add:\nlab:\n  rate_divisor: 100"),
        )
    bridges = tuple(_bridge(cluster, name, network) for name, network in cluster.networks.named().items())
    hosts = tuple(_host(cluster, index, host) for index, host in enumerate(cluster.hosts()))
    shared = tuple(folder.path for folder in cluster.storage.values() if folder.kind == "local")
    return LabLayout(cluster.name, bridges, hosts, shared)


def tag(lab: str) -> str:
    """Return eight characters that identify the lab, for names that would be too long with its own."""
    return f"cw{_digest(lab)[:6]}"


def _bridge(cluster: Cluster, name: str, network: Network) -> Bridge:
    address = _machine_address(cluster, network.subnet) if name == "management" else ""
    return Bridge(_bridge_name(cluster.name, name), name, str(network.subnet), address, network.mtu)


def _machine_address(cluster: Cluster, subnet: IPv4Network) -> str:
    """Return this machine's own address on the lab's network, with its prefix: the highest that no host has.

    Raises:
        WrightError: `lab-subnet-full`.
    """
    used_addresses = {host.management for host in cluster.hosts()}
    highest = int(subnet.broadcast_address) - 1
    for number in range(highest, int(subnet.network_address), -1):
        if IPv4Address(number) not in used_addresses:
            return f"{IPv4Address(number)}/{subnet.prefixlen}"
    raise WrightError.from_code(
        "lab-subnet-full",
        _("networks.management.subnet {subnet} has no free address for this machine", subnet=subnet),
        _("choose a larger subnet: the lab needs one address more than the number of hosts"),
    )


def _host(cluster: Cluster, index: int, host: Host) -> LabHost:
    networks = cluster.networks.named()
    links = tuple(
        _link(cluster, index, name, f"{address}/{networks[name].subnet.prefixlen}")
        for name, address in host.addresses.items()
        if name in networks
    )
    devices = host.group.gpus.device_files() if host.group.gpus else ()
    namespace = f"{tag(cluster.name)}-{host.name}"
    identity = _digest(namespace)
    gpus = simulated(cluster, host.group.gpus, identity)
    ports = rdma(cluster, host)
    over_nfs = [folder for folder in cluster.storage.values() if isinstance(folder, Nfs)]
    served = tuple(nfs.export or nfs.path for nfs in over_nfs if nfs.server == host.name)
    mounts_nfs = any(nfs.server != host.name for nfs in over_nfs)
    return LabHost(
        host.name, str(host.management), namespace, identity, links, devices, gpus, ports, served, mounts_nfs
    )


def _link(cluster: Cluster, index: int, name: NetworkName, address: str) -> Link:
    network = cluster.networks.named()[name]
    divisor = cluster.lab.rate_divisor if cluster.lab else 1
    rate = max(SLOWEST_BITS_PER_S, network.rate // max(1, divisor))
    outside = f"{tag(cluster.name)}{index}{name[0]}"
    assert len(outside) <= MAX_INTERFACE_NAME, outside  # noqa: S101 (invariant: 8 + 5 digits + 1)
    return Link(name, outside, _bridge_name(cluster.name, name), address, rate, network.mtu)


def _bridge_name(lab: str, network: str) -> str:
    return f"{tag(lab)}-{network[0]}"


def _digest(text: str) -> str:
    """Return 32 hexadecimal digits that identify a text: also the form of a machine-id(5)."""
    return hashlib.sha256(f"clusterwright lab {text}".encode()).hexdigest()[:32]
