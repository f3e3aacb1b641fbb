"""One subnet manager is master, on an InfiniBand network."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rdma import SubnetManager
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._unknown import unknown


def subnet_managers(cluster: Cluster) -> Iterator[Clash]:
    """Its hosts exist and are on InfiniBand; no host is named twice, and no two have the same priority."""
    managers = cluster.rdma.subnet_managers if cluster.rdma else ()
    seen: dict[int, tuple[int, str]] = {}
    for place, one in enumerate(managers):
        at = ("rdma", "subnet_managers", place)
        yield from _host(cluster, one, (*at, "host"))
        if one.priority in seen:
            first, host = seen[one.priority]
            yield Clash(
                "subnet-manager-priority",
                f"the subnet managers on {host} and {one.host} both have priority {one.priority}, so which is "
                "master is decided by the numbers of their adapters",
                "give the one that shall be master the higher one",
                ((*at, "priority"), ("rdma", "subnet_managers", first, "priority")),
            )
        seen.setdefault(one.priority, (place, one.host))


def _host(cluster: Cluster, one: SubnetManager, at: tuple[str | int, ...]) -> Iterator[Clash]:
    hosts = {name: group for group in cluster.nodes.values() for name in group.names()}
    if one.host not in hosts:
        yield unknown("rdma.subnet_managers", "host", one.host, hosts, (at, ("nodes",)))
        return
    there = hosts[one.host].addresses
    if not any(net.kind == "infiniband" for name, net in cluster.networks.named().items() if name in there):
        yield Clash(
            "subnet-manager-fabric",
            f"opensm is to run on {one.host}, which is on no InfiniBand network: RoCE and Ethernet have no subnet "
            "manager",
            "name a host with an address on an InfiniBand network, or take subnet_managers out",
            (at, ("networks",)),
        )
