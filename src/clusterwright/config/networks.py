"""The networks (management is required, compute and storage are optional), and RDMA: drivers, RoCE, subnet managers."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from itertools import takewhile
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.names import HostName, Version, expand_valid
from clusterwright.config.quantities import Rate
from clusterwright.i18n import N_, _

_FIRST_HOST = 10  # of a network, as in the templates; the addresses before it are often those of routers
_LONGEST_PREFIX = 30  # a /30 holds two hosts, a longer prefix no cluster
_MOST_PRIORITY, _MOST_DSCP = 7, 63  # IEEE 802.1Q: 3 bits; RFC 2474: 6 bits
_MOST_SM_PRIORITY = 15  # InfiniBand specification: 4 bits
_LARGEST_MTU = 65535


def _ipv4(value: Any) -> IPv4Network:
    fix = _("write the network as 10.77.0.0/24")
    if not isinstance(value, str) or "/" not in value:
        message = _("`{value}` is not an IPv4 network with a prefix length", value=value)
        raise refuse("bad-address", message, fix)
    try:
        return IPv4Network(value)
    except ValueError as error:
        message = _("`{value}` is not an IPv4 network: {error}", value=value, error=error)
        raise refuse("bad-address", message, _suggest_network(value) or fix) from error


def _suggest_network(value: str) -> str | None:
    """Return the fix for a host address with a prefix length, its network; None for other values."""
    try:
        return _("write the network as {network}", network=IPv4Network(value, strict=False))
    except ValueError:
        return None


def _subnet(value: Any) -> IPv4Network:
    network = _ipv4(value)
    if not network.is_private or network.is_loopback or network.is_link_local:
        raise refuse(
            "bad-address",
            _("`{value}` is not a private network", value=value),
            _("use a network in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16 (RFC 1918)"),
        )
    if network.prefixlen > _LONGEST_PREFIX:
        raise refuse(
            "bad-address",
            _("`{value}` is too small for two hosts", value=value),
            _("use a /30 or larger, e.g. a /24"),
        )
    return network


def _origin(value: Any) -> IPv4Network:
    network = _ipv4(value)
    if network.prefixlen == 0:
        raise refuse(
            "bad-address",
            _("`{value}` is the whole IPv4 address space", value=value),
            _("to allow SSH from all addresses, remove ssh_from; otherwise set a smaller network"),
        )
    return network


_FORM = WithJsonSchema({"type": "string", "examples": ["10.77.0.0/24"], "form": N_("an IPv4 network")})
Subnet = Annotated[IPv4Network, BeforeValidator(_subnet), _FORM]
# Sources of connections: an office may have public addresses, and a single host is a /32.
Origin = Annotated[IPv4Network, BeforeValidator(_origin), _FORM]

NetworkName = Literal["management", "compute", "storage"]


class Network(Section):
    """A network that hosts of the cluster share."""

    kind: Literal["ethernet", "roce", "infiniband"] = setting(
        "Type of the network: Ethernet, RoCE or InfiniBand.",
        cost=Cost.REBUILD,
        default="ethernet",
        example="roce",
    )
    subnet: Subnet = setting(
        "IPv4 subnet (for InfiniBand: of IPoIB).", cost=Cost.REBUILD, example="10.77.0.0/24"
    )
    rate: Rate = setting(
        "Bandwidth of one port of a host on this network.", cost=Cost.REBUILD, example="25Gbit/s"
    )
    fabric: Literal["single-switch", "leaf-spine", "fat-tree", "rail-optimized", "ring", "star"] = setting(
        "Topology of the switches.", cost=Cost.REBUILD, default="single-switch", example="rail-optimized"
    )
    rails: int = setting(
        "Ports per host on this network, each on its own rail.",
        cost=Cost.REBUILD, default=1, example="8", least=1, most=16,
    )  # fmt: skip
    mtu: int = setting(
        "MTU in bytes, the same end to end.",
        cost=Cost.RESTART, default=1500, example="9000", least=1280, most=65520,
    )  # fmt: skip


class Networks(Section):
    """The networks of the cluster by purpose."""

    management: Network = setting("Network of SSH, Slurm and monitoring.", cost=Cost.REBUILD)
    compute: Network | None = setting(
        "Network of collectives between ranks; default: management.", cost=Cost.REBUILD, default=None
    )
    storage: Network | None = setting(
        "Network of shared storage; default: management.", cost=Cost.REBUILD, default=None
    )

    def named(self) -> dict[NetworkName, Network]:
        """Return the declared networks by name, management first."""
        pairs: tuple[tuple[NetworkName, Network | None], ...] = (
            ("management", self.management), ("compute", self.compute), ("storage", self.storage),
        )  # fmt: skip
        return {name: network for name, network in pairs if network is not None}


def free_address(values: Mapping[str, Any], group: str, network: str) -> str:
    """Return an address for the first host of a group, after all hosts of the network; empty if not all hosts fit.

    `values` are those of a cluster file that is not valid: parts of it may be missing or of a wrong type.
    """
    groups = _section(values, "nodes")
    try:
        subnet = IPv4Network(str(_section(_section(values, "networks"), network).get("subnet")))
        free = subnet.network_address + _FIRST_HOST
        for name in groups:
            free = max(free, _next_address(_section(groups, name), network) or free)
        earlier = takewhile(lambda name: name != group, groups)  # their own fix proposes the addresses before
        free += sum(
            _host_count(_section(groups, name))
            for name in earlier
            if "addresses" not in _section(groups, name)
        )
        last = free + _host_count(_section(groups, group)) - 1
    except ValueError:
        return ""
    return str(free) if last in subnet and last != subnet.broadcast_address else ""


def _next_address(group: Mapping[str, Any], network: str) -> IPv4Address | None:
    """Return the address after the last host of a group on a network; None if the group has no valid address there."""
    try:
        return IPv4Address(str(_section(group, "addresses").get(network))) + _host_count(group)
    except ValueError:
        return None


def _section(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = values.get(key)
    return value if isinstance(value, Mapping) else {}


def _host_count(group: Mapping[str, Any]) -> int:
    hosts = group.get("hosts")
    return len(expand_valid(hosts) or ()) or 1 if isinstance(hosts, str) else 1


class Roce(Section):
    """Marking and flow control of RoCE v2; the switches need the same settings."""

    priority: int = setting(
        "Lossless priority of RoCE traffic (PFC).",
        cost=Cost.DRAIN, default=3, example="3", least=0, most=_MOST_PRIORITY,
    )  # fmt: skip
    dscp: int = setting(
        "DSCP of RoCE packets; switches and adapters map it to the priority.",
        cost=Cost.DRAIN, default=26, example="26", least=0, most=_MOST_DSCP,
    )  # fmt: skip
    ecn: bool = setting(
        "Congestion control: senders slow down when a switch marks packets (ECN, DCQCN).",
        cost=Cost.DRAIN, default=True, example="true",
    )  # fmt: skip
    cnp_dscp: int = setting(
        "DSCP of congestion notification packets (CNP).",
        cost=Cost.DRAIN, default=48, example="48", least=0, most=_MOST_DSCP,
    )  # fmt: skip


class SubnetManager(Section):
    """A host that runs opensm."""

    host: HostName = setting(
        "Host of the InfiniBand network that runs this subnet manager (opensm).",
        cost=Cost.REBOOT,
        example="control1",
    )
    priority: int = setting(
        "Priority of this subnet manager: the highest becomes master, the others are standby.",
        cost=Cost.REBOOT, default=14, example="14", least=0, most=_MOST_SM_PRIORITY,
    )  # fmt: skip


class Rdma(Section):
    """RDMA settings of hosts on an InfiniBand or RoCE network."""

    driver: Literal["inbox", "doca-ofed", "mlnx-ofed"] = setting(
        "RDMA drivers: inbox are the distribution's (rdma-core), the others NVIDIA's, from a repository of the site.",
        cost=Cost.REBOOT, default="inbox", example="doca-ofed",
    )  # fmt: skip
    driver_version: Version | None = setting(
        "Version of NVIDIA's RDMA drivers (doca-ofed or mlnx-ofed), or its beginning; default: any version.",
        cost=Cost.REBOOT,
        default=None,
        example='"3.1"',
    )
    gpudirect: Literal["auto", "peermem", "nv-peer-mem", "dma-buf", "off"] = setting(
        "GPUDirect RDMA method; auto: what the driver and the kernel support.",
        cost=Cost.DRAIN, default="auto", example="dma-buf",
    )  # fmt: skip
    roce: Roce = setting("Marking and flow control of RoCE.", cost=Cost.DRAIN, default=Roce)
    switch_mtu: int | None = setting(
        "MTU of the switch ports; if set, the MTUs of the networks are checked against it.",
        default=None, example="9216", least=1280, most=_LARGEST_MTU,
    )  # fmt: skip
    subnet_managers: tuple[SubnetManager, ...] = setting(
        "Hosts that run opensm, if no switch has a subnet manager.", cost=Cost.REBOOT, default=()
    )
    topology_file: bool = setting(
        "Generate an NCCL topology file from each host's PCI tree, which some virtual machines need.",
        default=False, example="true",
    )  # fmt: skip
    mpi: bool = setting("Install and configure Open MPI and UCX.", default=True, example="true")
    mpi_default: Literal["none", "pmix"] = setting(
        "Slurm's MpiDefault, for `srun` without --mpi; pmix needs Slurm's PMIx plugin.",
        cost=Cost.RESTART, default="none", example="pmix",
    )  # fmt: skip
