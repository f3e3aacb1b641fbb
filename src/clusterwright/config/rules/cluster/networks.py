"""Networks, the addresses in them, and RDMA over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import combinations

from clusterwright.config.clash import Clash, members, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.networks import NetworkName
from clusterwright.config.rdma import Rdma, Roce, SubnetManager
from clusterwright.i18n import _

# IEEE 802.3 leaves jumbo frames to vendors; adapters and switches stop at 9216 to 9978 bytes (ConnectX: 9978).
_LARGEST_ETHERNET = 9978


def networks(cluster: Cluster) -> Iterator[Clash]:
    """No two subnets overlap, or a host would not know which link to take; each network is used, and can be so."""
    for (network_name, ours), (other_name, theirs) in combinations(cluster.networks.named().items(), 2):
        if ours.subnet.overlaps(theirs.subnet):
            yield Clash(
                "networks-overlap",
                _(
                    "the {network_name} network {subnet} and the {other_name} network {subnet2} share "
                    "addresses",
                    network_name=network_name,
                    subnet=ours.subnet,
                    other_name=other_name,
                    subnet2=theirs.subnet,
                ),
                _("give one of them a subnet of its own"),
                (("networks", network_name, "subnet"), ("networks", other_name, "subnet")),
            )
    for name, network in cluster.networks.named().items():
        if not any(name in group.addresses for group in cluster.nodes.values()) and name != "management":
            yield Clash(
                "network-unused",
                _("the {name} network is declared, but no node group has an address on it", name=name),
                _("add `{name}:` to nodes.NAME.addresses, or take networks.{name} out", name=name),
                (("networks", name), ("nodes",)),
            )
        if network.kind != "infiniband" and network.mtu > _LARGEST_ETHERNET:
            yield Clash(
                "mtu-too-large",
                _(
                    "packets of {mtu} bytes do not fit Ethernet, which carries the {name} network",
                    mtu=network.mtu,
                    name=name,
                ),
                _("set `mtu: 9000` (jumbo frames) or leave it out; 65520 is for IPoIB alone"),
                (("networks", name, "mtu"), ("networks", name, "kind")),
            )
        if network.fabric == "rail-optimized" and network.rails == 1:
            yield Clash(
                "rails-missing",
                _("the {name} network is rail-optimized with one rail", name=name),
                _("set `rails` to the ports per host, usually one a GPU, or take another fabric"),
                (("networks", name, "fabric"), ("networks", name, "rails")),
            )


@dataclass(frozen=True, slots=True)
class _Range:
    """The addresses of one group on one network, as integers: the last one may not be an address at all."""

    group: str
    network: NetworkName
    start: int
    count: int

    @property
    def last(self) -> int:
        return self.start + self.count - 1

    @property
    def loc(self) -> tuple[str, ...]:
        return ("nodes", self.group, "addresses", self.network)

    def __str__(self) -> str:
        start, last = IPv4Address(self.start), self.last
        if self.count == 1:
            return str(start)
        return f"{start} to {IPv4Address(last) if last < 2**32 else 'beyond 255.255.255.255'}"


def addresses(cluster: Cluster) -> Iterator[Clash]:
    """Each group has a management address; each address is inside its network and is given once."""
    ranges = [
        _Range(name, network, int(start), len(group.all_names()))
        for name, group in cluster.nodes.items()
        for network, start in group.addresses.items()
    ]
    yield from _without_management(cluster)
    for address_range in ranges:
        yield from _outside(cluster, address_range)
    for address_range, other_range in combinations(ranges, 2):
        yield from _overlap(address_range, other_range)


def _without_management(cluster: Cluster) -> Iterator[Clash]:
    for name, group in cluster.nodes.items():
        if "management" not in group.addresses:
            yield Clash(
                "no-management-address",
                _(
                    "node group `{name}` has no address on the management network, where SSH and Slurm run",
                    name=name,
                ),
                _("add management: and an address in {subnet}", subnet=cluster.networks.management.subnet),
                (("nodes", name, "addresses"), ("networks", "management", "subnet")),
            )


def _outside(cluster: Cluster, address_range: _Range) -> Iterator[Clash]:
    network = cluster.networks.named().get(address_range.network)
    if network is None:
        yield Clash(
            "address-without-network",
            _(
                "node group `{group}` has an address on the {network} network, which is not there",
                group=address_range.group,
                network=address_range.network,
            ),
            _("add networks.{network}, or take the address out", network=address_range.network),
            (address_range.loc, ("networks",)),
        )
        return
    # The first and the last address of a subnet are the network's own and the broadcast address.
    lowest, highest = int(network.subnet.network_address) + 1, int(network.subnet.broadcast_address) - 1
    if address_range.start < lowest or address_range.last > highest:
        capacity = highest - lowest + 1
        usable = f"{IPv4Address(lowest)} to {IPv4Address(highest)}"
        fix = (
            _("start within {usable}, so that {count} fit", usable=usable, count=address_range.count)
            if address_range.count <= capacity
            else _("widen {subnet}", subnet=network.subnet)
        )
        yield Clash(
            "address-outside-network",
            _(
                "node group `{group}` takes {address_range}, but the {network} network holds {usable}",
                group=address_range.group,
                address_range=address_range,
                network=address_range.network,
                usable=usable,
            ),
            fix,
            (address_range.loc, ("networks", address_range.network, "subnet")),
        )


def _overlap(address_range: _Range, other_range: _Range) -> Iterator[Clash]:
    if address_range.start <= other_range.last and other_range.start <= address_range.last:
        yield Clash(
            "address-taken",
            _(
                "`{group}` takes {address_range} ({network}), and `{group2}` {other_range} ({network2})",
                group=address_range.group,
                address_range=address_range,
                network=address_range.network,
                group2=other_range.group,
                other_range=other_range,
                network2=other_range.network,
            ),
            _(
                "start `{group}` at another address: the next hosts of a group take the next addresses",
                group=other_range.group,
            ),
            (address_range.loc, other_range.loc),
        )


def topology(cluster: Cluster) -> Iterator[Clash]:
    """In a tree each group names its switch; a block is no larger than the cluster."""
    groups = {name: group for name, group in cluster.nodes.items() if group.role == "compute"}
    kind = cluster.slurm.topology
    switchless = [name for name, group in groups.items() if group.switch is None]
    some = len(switchless) < len(groups)
    if switchless and (kind == "tree" or (kind == "auto" and some)):
        reason = _("slurm.topology is tree") if kind == "tree" else _("other groups name theirs")
        yield Clash(
            "switch-missing",
            _(
                "{reason}, but {names} {ending} no switch: Slurm gives no job to hosts that hang on none",
                reason=reason,
                names=names(switchless),
                ending="names" if len(switchless) == 1 else "name",
            ),
            _("add `switch:` there, or set slurm.topology to none"),
            (*(("nodes", name) for name in switchless), ("slurm", "topology")),
        )
    hosts = len(members(cluster, "compute"))
    if kind == "block" and hosts and cluster.slurm.block_size > hosts:
        yield Clash(
            "block-size",
            _(
                "a block is {block_size} hosts, and the cluster has {hosts} compute hosts in all",
                block_size=cluster.slurm.block_size,
                hosts=hosts,
            ),
            _("set block_size to the hosts of one NVLink domain, or slurm.topology to none"),
            (("slurm", "block_size"), ("nodes",)),
        )


_KINDS = ("infiniband", "roce")


def rdma(cluster: Cluster) -> Iterator[Clash]:
    """Drivers come from somewhere, packets fit the switches, settings of RoCE have a network, nics are one a rail."""
    yield from _nics(cluster)
    if cluster.rdma is not None:
        yield from _packages(cluster, cluster.rdma)
        yield from _packets(cluster, cluster.rdma)
        yield from _roce(cluster, cluster.rdma)


def _packages(cluster: Cluster, rdma: Rdma) -> Iterator[Clash]:
    if rdma.driver == "inbox" and rdma.driver_version is not None:
        yield Clash(
            "ofed-version",
            _(
                "the distribution's own RDMA drivers are to be of version {driver_version}, and they "
                "have its kernel's",
                driver_version=rdma.driver_version,
            ),
            _("leave driver_version out, or set rdma.driver to doca-ofed"),
            (("rdma", "driver_version"), ("rdma", "driver")),
        )
    if rdma.driver != "inbox" and not cluster.software.repositories:
        yield Clash(
            "ofed-repository",
            _(
                "{driver} comes from a repository of NVIDIA's or a copy of it, and the file names none",
                driver=rdma.driver,
            ),
            _("add it to software.repositories, or set rdma.driver to inbox"),
            (("rdma", "driver"), ("software", "repositories")),
        )


def _packets(cluster: Cluster, rdma: Rdma) -> Iterator[Clash]:
    for name, network in cluster.networks.named().items():
        if network.kind == "roce" and rdma.switch_mtu is not None and network.mtu > rdma.switch_mtu:
            yield Clash(
                "mtu-over-switch",
                _(
                    "packets of {mtu} bytes on the {name} network are larger than the {switch_mtu} that "
                    "its switches carry",
                    mtu=network.mtu,
                    name=name,
                    switch_mtu=rdma.switch_mtu,
                ),
                _("lower it to {switch_mtu}", switch_mtu=rdma.switch_mtu),
                (("networks", name, "mtu"), ("rdma", "switch_mtu")),
            )


def _roce(cluster: Cluster, rdma: Rdma) -> Iterator[Clash]:
    if rdma.roce != Roce() and all(network.kind != "roce" for network in cluster.networks.named().values()):
        yield Clash(
            "roce-unused",
            _("rdma.roce says how RoCE is marked, and no network is RoCE"),
            _("take it out, or set `kind: roce` on the network that is"),
            (("rdma", "roce"), ("networks",)),
        )


def _nics(cluster: Cluster) -> Iterator[Clash]:
    """Named devices are those of the compute network, one for each of its rails."""
    compute = cluster.networks.compute
    for name, group in cluster.nodes.items():
        if not group.nics:
            continue
        if compute is None or compute.kind not in _KINDS or "compute" not in group.addresses:
            kind = "no compute network" if compute is None else f"one of kind {compute.kind}"
            yield Clash(
                "nics-rails",
                _(
                    "group `{name}` names RDMA devices of the compute network, and the group has {kind}",
                    name=name,
                    kind=kind,
                ),
                _(
                    "take nics out, or give the group an address on a compute network of kind infiniband "
                    "or roce"
                ),
                (("nodes", name, "nics"), ("networks", "compute") if compute else ("networks",)),
            )
        elif len(group.nics) != compute.rails:
            yield Clash(
                "nics-rails",
                _(
                    "group `{name}` names {count} RDMA devices, and networks.compute.rails is {rails}",
                    name=name,
                    count=len(group.nics),
                    rails=compute.rails,
                ),
                _("name each rail's device once, in the order of the rails"),
                (("nodes", name, "nics"), ("networks", "compute", "rails")),
            )


def subnet_managers(cluster: Cluster) -> Iterator[Clash]:
    """Its hosts exist and are on InfiniBand; no host is named twice, and no two have the same priority."""
    managers = cluster.rdma.subnet_managers if cluster.rdma else ()
    by_priority: dict[int, tuple[int, str]] = {}
    for index, manager in enumerate(managers):
        loc = ("rdma", "subnet_managers", index)
        yield from _host(cluster, manager, (*loc, "host"))
        if manager.priority in by_priority:
            first_index, host = by_priority[manager.priority]
            yield Clash(
                "subnet-manager-priority",
                _(
                    "the subnet managers on {host} and {manager} both have priority {priority}, so which "
                    "is master is decided by the numbers of their adapters",
                    host=host,
                    manager=manager.host,
                    priority=manager.priority,
                ),
                _("give the one that shall be master the higher one"),
                ((*loc, "priority"), ("rdma", "subnet_managers", first_index, "priority")),
            )
        by_priority.setdefault(manager.priority, (index, manager.host))


def _host(cluster: Cluster, manager: SubnetManager, loc: tuple[str | int, ...]) -> Iterator[Clash]:
    hosts = {name: group for group in cluster.nodes.values() for name in group.names()}
    if manager.host not in hosts:
        yield unknown("rdma.subnet_managers", "host", manager.host, hosts, (loc, ("nodes",)))
        return
    host_addresses = hosts[manager.host].addresses
    if not any(
        net.kind == "infiniband" for name, net in cluster.networks.named().items() if name in host_addresses
    ):
        yield Clash(
            "subnet-manager-fabric",
            _(
                "opensm is to run on {manager}, which is on no InfiniBand network: RoCE and Ethernet "
                "have no subnet manager",
                manager=manager.host,
            ),
            _("name a host with an address on an InfiniBand network, or take subnet_managers out"),
            (loc, ("networks",)),
        )


# NVIDIA's driver README, "GPUDirect RDMA Peer Memory Client": nvidia-peermem came with 470, and took nv_peer_mem's
# place. DMA-BUF needs the open kernel modules, which came with 515.
_MIN_DRIVER = {"peermem": (470, "nvidia-peermem comes with the driver since 470"),
          "dma-buf": (515, "DMA-BUF needs the open kernel modules, which came with 515")}  # fmt: skip
_MAX_DRIVER = {"nv-peer-mem": (470, "nv_peer_mem is for drivers before 470; newer ones bring nvidia-peermem")}


def gpudirect(cluster: Cluster) -> Iterator[Clash]:
    """A driver is declared, and of a release that offers it."""
    method = cluster.rdma.gpudirect if cluster.rdma else "auto"
    if method in ("auto", "off"):
        return
    driver = cluster.software.driver
    if driver is None:
        yield Clash(
            "gpudirect-driver",
            _("GPUs are to be reached by {method}, and the file declares no driver for them", method=method),
            _("declare software.driver, or set rdma.gpudirect to auto"),
            (("rdma", "gpudirect"), ("software", "driver")),
        )
        return
    from clusterwright.catalog.software import major

    least, reason = _MIN_DRIVER.get(method, (0, ""))
    limit, removal_reason = _MAX_DRIVER.get(method, (10**6, ""))
    if not least <= major(driver) < limit:
        yield Clash(
            "gpudirect-driver",
            _(
                "GPUs are to be reached by {method}, and the driver is {driver}: {reason}",
                method=method,
                driver=driver,
                reason=reason or removal_reason,
            ),
            _("set rdma.gpudirect to auto, which takes what the driver has"),
            (("rdma", "gpudirect"), ("software", "driver")),
        )
