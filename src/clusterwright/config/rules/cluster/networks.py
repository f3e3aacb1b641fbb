"""Rules about networks, addresses and RDMA."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import combinations

from clusterwright.config.clash import Clash, members, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.networks import NetworkName, Rdma, Roce, SubnetManager
from clusterwright.i18n import N_, _

# IEEE 802.3 does not define jumbo frames; adapters and switches support 9216 to 9978 bytes (ConnectX: 9978).
_LARGEST_ETHERNET = 9978


def networks(cluster: Cluster) -> Iterator[Clash]:
    """Check that subnets do not overlap (ambiguous routes), and networks are used, with valid MTU and rails.

    The management network may be unused.
    """
    for (network_name, ours), (other_name, theirs) in combinations(cluster.networks.named().items(), 2):
        if ours.subnet.overlaps(theirs.subnet):
            yield Clash(
                "networks-overlap",
                _(
                    "the subnets {first_subnet} ({first}) and {second_subnet} ({second}) overlap",
                    first=network_name,
                    first_subnet=ours.subnet,
                    second=other_name,
                    second_subnet=theirs.subnet,
                ),
                _("choose another subnet for one of the two networks"),
                (("networks", network_name, "subnet"), ("networks", other_name, "subnet")),
            )
    for name, network in cluster.networks.named().items():
        if not any(name in group.addresses for group in cluster.nodes.values()) and name != "management":
            yield Clash(
                "network-unused",
                _("the {name} network is declared, but no node group has an address on it", name=name),
                _("add `{name}:` to nodes.NAME.addresses, or remove networks.{name}", name=name),
                (("networks", name), ("nodes",)),
            )
        if network.kind != "infiniband" and network.mtu > _LARGEST_ETHERNET:
            yield Clash(
                "mtu-too-large",
                _(
                    "MTU {mtu} is too large for the {name} network, which is Ethernet",
                    mtu=network.mtu,
                    name=name,
                ),
                _("set `mtu: 9000` (jumbo frames), or remove `mtu`; 65520 is for IPoIB only"),
                (("networks", name, "mtu"), ("networks", name, "kind")),
            )
        if network.fabric == "rail-optimized" and network.rails == 1:
            yield Clash(
                "rails-missing",
                _("the {name} network is rail-optimized, but has 1 rail", name=name),
                _("set `rails` to the ports per host, usually one per GPU, or change fabric"),
                (("networks", name, "fabric"), ("networks", name, "rails")),
            )


@dataclass(frozen=True, slots=True)
class _Range:
    """The addresses of a group on a network, as integers, because the last may exceed 255.255.255.255."""

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
        return f"{start} - {IPv4Address(last)}" if last < 2**32 else f"{start} - ..."


def addresses(cluster: Cluster) -> Iterator[Clash]:
    """Check that each group has a management address, and addresses are inside their network and unique."""
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
                    "node group `{name}` has no address on the management network, which SSH and Slurm use",
                    name=name,
                ),
                _("add `management:` with an address in {subnet}", subnet=cluster.networks.management.subnet),
                (("nodes", name, "addresses"), ("networks", "management", "subnet")),
            )


def _outside(cluster: Cluster, address_range: _Range) -> Iterator[Clash]:
    network = cluster.networks.named().get(address_range.network)
    if network is None:
        yield Clash(
            "address-without-network",
            _(
                "node group `{group}` has an address on the {network} network, which is not declared",
                group=address_range.group,
                network=address_range.network,
            ),
            _("add networks.{network}, or remove the address", network=address_range.network),
            (address_range.loc, ("networks",)),
        )
        return
    # The first and the last address of a subnet are the network address and the broadcast address.
    lowest, highest = int(network.subnet.network_address) + 1, int(network.subnet.broadcast_address) - 1
    if address_range.start < lowest or address_range.last > highest:
        capacity = highest - lowest + 1
        usable = f"{IPv4Address(lowest)} - {IPv4Address(highest)}"
        if address_range.count <= capacity:
            fix = _(
                "start in {usable} with room for {count} addresses", usable=usable, count=address_range.count
            )
        else:
            fix = _("widen {subnet}", subnet=network.subnet)
        message = _(
            "node group `{group}` needs {addresses}, but the {network} network has {usable}",
            group=address_range.group,
            addresses=address_range,
            network=address_range.network,
            usable=usable,
        )
        locs = (address_range.loc, ("networks", address_range.network, "subnet"))
        yield Clash("address-outside-network", message, fix, locs)


def _overlap(address_range: _Range, other_range: _Range) -> Iterator[Clash]:
    if address_range.start <= other_range.last and other_range.start <= address_range.last:
        yield Clash(
            "address-taken",
            _(
                "the addresses of `{first}` ({first_addresses}) and of `{second}` ({second_addresses}) overlap",
                first=address_range.group,
                first_addresses=address_range,
                second=other_range.group,
                second_addresses=other_range,
            ),
            _(
                "change the first address of `{group}`; the next hosts of a group have the next addresses",
                group=other_range.group,
            ),
            (address_range.loc, other_range.loc),
        )


def topology(cluster: Cluster) -> Iterator[Clash]:
    """Check that with `topology: tree` each compute group has a switch, and a block is no larger than the cluster.

    With `auto`, either all groups or none have a switch.
    """
    groups = {name: group for name, group in cluster.nodes.items() if group.role == "compute"}
    kind = cluster.slurm.topology
    switchless = [name for name, group in groups.items() if group.switch is None]
    some = len(switchless) < len(groups)
    if switchless and (kind == "tree" or (kind == "auto" and some)):
        message = _(
            "groups {names} have no `switch`: with topology tree Slurm allocates no hosts without a switch",
            names=names(switchless),
        )
        fix = _("add `switch:` to these groups, or set slurm.topology to none")
        locs = (*(("nodes", name) for name in switchless), ("slurm", "topology"))
        yield Clash("switch-missing", message, fix, locs)
    hosts = len(members(cluster, "compute"))
    if kind == "block" and hosts and cluster.slurm.block_size > hosts:
        yield Clash(
            "block-size",
            _(
                "slurm.block_size is {size}, but the cluster has {hosts} compute hosts",
                size=cluster.slurm.block_size,
                hosts=hosts,
            ),
            _("set block_size to the hosts of one NVLink domain, or slurm.topology to none"),
            (("slurm", "block_size"), ("nodes",)),
        )


_KINDS = ("infiniband", "roce")


def rdma(cluster: Cluster) -> Iterator[Clash]:
    """Check that RDMA drivers have a repository, MTUs fit, `roce` has a network, and `nics` has one device per rail."""
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
                "rdma.driver_version is {version}, but inbox drivers have the version of the kernel",
                version=rdma.driver_version,
            ),
            _("remove driver_version, or set rdma.driver to doca-ofed"),
            (("rdma", "driver_version"), ("rdma", "driver")),
        )
    if rdma.driver != "inbox" and not cluster.software.repositories:
        yield Clash(
            "ofed-repository",
            _("{driver} needs NVIDIA's repository, but software.repositories is empty", driver=rdma.driver),
            _("add the repository to software.repositories, or set rdma.driver to inbox"),
            (("rdma", "driver"), ("software", "repositories")),
        )


def _packets(cluster: Cluster, rdma: Rdma) -> Iterator[Clash]:
    for name, network in cluster.networks.named().items():
        if network.kind == "roce" and rdma.switch_mtu is not None and network.mtu > rdma.switch_mtu:
            yield Clash(
                "mtu-over-switch",
                _(
                    "the MTU of the {name} network, {mtu}, is larger than rdma.switch_mtu, {limit}",
                    name=name,
                    mtu=network.mtu,
                    limit=rdma.switch_mtu,
                ),
                _("lower the value to {limit}", limit=rdma.switch_mtu),
                (("networks", name, "mtu"), ("rdma", "switch_mtu")),
            )


def _roce(cluster: Cluster, rdma: Rdma) -> Iterator[Clash]:
    if rdma.roce != Roce() and all(network.kind != "roce" for network in cluster.networks.named().values()):
        yield Clash(
            "roce-unused",
            _("rdma.roce is set, but no network is of kind roce"),
            _("remove the `roce` settings, or set `kind: roce` on the RoCE network"),
            (("rdma", "roce"), ("networks",)),
        )


def _nics(cluster: Cluster) -> Iterator[Clash]:
    """Check that a group with `nics` has an RDMA compute network, and one device for each of its rails."""
    compute = cluster.networks.compute
    for name, group in cluster.nodes.items():
        if not group.nics:
            continue
        if compute is None or compute.kind not in _KINDS or "compute" not in group.addresses:
            message = _("node group `{name}` has nics, but no address on an RDMA compute network", name=name)
            fix = _("remove nics, or add an address on a compute network of kind infiniband or roce")
            locs = (("nodes", name, "nics"), ("networks", "compute") if compute else ("networks",))
            yield Clash("nics-rails", message, fix, locs)
        elif len(group.nics) != compute.rails:
            yield Clash(
                "nics-rails",
                _(
                    "the number of nics of node group `{name}` is {count}, but networks.compute.rails is {rails}",
                    name=name,
                    count=len(group.nics),
                    rails=compute.rails,
                ),
                _("list the device of each rail once, in the order of the rails"),
                (("nodes", name, "nics"), ("networks", "compute", "rails")),
            )


def subnet_managers(cluster: Cluster) -> Iterator[Clash]:
    """Check that subnet managers run on hosts of the InfiniBand network and have different priorities."""
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
                    "the subnet managers on {first} and {second} both have priority {priority}, so their GUIDs decide "
                    "which is master",
                    first=host,
                    second=manager.host,
                    priority=manager.priority,
                ),
                _("set a higher priority for the subnet manager that must be master"),
                ((*loc, "priority"), ("rdma", "subnet_managers", first_index, "priority")),
            )
        by_priority.setdefault(manager.priority, (index, manager.host))


def _host(cluster: Cluster, manager: SubnetManager, loc: tuple[str | int, ...]) -> Iterator[Clash]:
    hosts = {name: group for group in cluster.nodes.values() for name in group.names()}
    if manager.host not in hosts:
        yield unknown("rdma.subnet_managers", _("host"), manager.host, hosts, (loc, ("nodes",)))
        return
    host_addresses = hosts[manager.host].addresses
    if not any(
        net.kind == "infiniband" for name, net in cluster.networks.named().items() if name in host_addresses
    ):
        yield Clash(
            "subnet-manager-fabric",
            _(
                "opensm would run on {host}, which has no address on an InfiniBand network; RoCE needs no opensm",
                host=manager.host,
            ),
            _("use a host with an address on an InfiniBand network, or remove subnet_managers"),
            (loc, ("networks",)),
        )


# NVIDIA's driver README, "GPUDirect RDMA Peer Memory Client": nvidia-peermem replaced nv_peer_mem in 470.
# DMA-BUF needs the open kernel modules, which are in 515 and later.
_DRIVERS = {  # by method: the first driver that has it, the first that lacks it
    "peermem": (470, 10**6, N_("rdma.gpudirect is peermem, which needs driver 470 or later, not {driver}")),
    "dma-buf": (515, 10**6, N_("rdma.gpudirect is dma-buf, which needs driver 515 or later, not {driver}")),
    "nv-peer-mem": (
        0,
        470,
        N_("rdma.gpudirect is nv-peer-mem, which needs a driver before 470, not {driver}"),
    ),
}


def gpudirect(cluster: Cluster) -> Iterator[Clash]:
    """Check that the driver is declared and supports the GPUDirect RDMA method; `auto` and `off` always pass."""
    method = cluster.rdma.gpudirect if cluster.rdma else "auto"
    if method in ("auto", "off"):
        return
    driver = cluster.software.driver
    if driver is None:
        yield Clash(
            "gpudirect-driver",
            _("rdma.gpudirect is {method}, but software.driver is not set", method=method),
            _("set software.driver, or set rdma.gpudirect to auto"),
            (("rdma", "gpudirect"), ("software", "driver")),
        )
        return
    from clusterwright.catalog.software import major

    least, limit, message = _DRIVERS[method]
    if not least <= major(driver) < limit:
        fix = _("set rdma.gpudirect to auto, which uses the method of the driver")
        locs = (("rdma", "gpudirect"), ("software", "driver"))
        yield Clash("gpudirect-driver", _(message, driver=driver), fix, locs)
