"""Every address lies in its network and belongs to one host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import combinations

from clusterwright.config.cluster import Cluster
from clusterwright.config.networks import NetworkName
from clusterwright.config.rules._clash import Clash


@dataclass(frozen=True, slots=True)
class _Range:
    """The addresses of one group on one network, as integers: the last one may not be an address at all."""

    group: str
    network: NetworkName
    first: int
    count: int

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    @property
    def loc(self) -> tuple[str, ...]:
        return ("nodes", self.group, "addresses", self.network)

    def __str__(self) -> str:
        first, last = IPv4Address(self.first), self.last
        if self.count == 1:
            return str(first)
        return f"{first} to {IPv4Address(last) if last < 2**32 else 'beyond 255.255.255.255'}"


def addresses(cluster: Cluster) -> Iterator[Clash]:
    """Each group has a management address; each address is inside its network and is given once."""
    ranges = [
        _Range(name, network, int(first), len(group.all_names()))
        for name, group in cluster.nodes.items()
        for network, first in group.addresses.items()
    ]
    yield from _without_management(cluster)
    for one in ranges:
        yield from _outside(cluster, one)
    for one, other in combinations(ranges, 2):
        yield from _taken(one, other)


def _without_management(cluster: Cluster) -> Iterator[Clash]:
    for name, group in cluster.nodes.items():
        if "management" not in group.addresses:
            yield Clash(
                "no-management-address",
                f"node group `{name}` has no address on the management network, where SSH and Slurm run",
                f"add management: and an address in {cluster.networks.management.subnet}",
                (("nodes", name, "addresses"), ("networks", "management", "subnet")),
            )


def _outside(cluster: Cluster, one: _Range) -> Iterator[Clash]:
    network = cluster.networks.named().get(one.network)
    if network is None:
        yield Clash(
            "address-without-network",
            f"node group `{one.group}` has an address on the {one.network} network, which is not there",
            f"add networks.{one.network}, or take the address out",
            (one.loc, ("networks",)),
        )
        return
    # The first and the last address of a subnet are the network's own and the broadcast address.
    lowest, highest = int(network.subnet.network_address) + 1, int(network.subnet.broadcast_address) - 1
    if one.first < lowest or one.last > highest:
        room = highest - lowest + 1
        usable = f"{IPv4Address(lowest)} to {IPv4Address(highest)}"
        mend = (
            f"start within {usable}, so that {one.count} fit"
            if one.count <= room
            else f"widen {network.subnet}"
        )
        yield Clash(
            "address-outside-network",
            f"node group `{one.group}` takes {one}, but the {one.network} network holds {usable}",
            mend,
            (one.loc, ("networks", one.network, "subnet")),
        )


def _taken(one: _Range, other: _Range) -> Iterator[Clash]:
    if one.first <= other.last and other.first <= one.last:
        yield Clash(
            "address-taken",
            f"`{one.group}` takes {one} ({one.network}), and `{other.group}` {other} ({other.network})",
            f"start `{other.group}` at another address: the next hosts of a group take the next addresses",
            (one.loc, other.loc),
        )
