"""Networks do not share addresses, and are what their other fields say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash

# IEEE 802.3 leaves jumbo frames to vendors; adapters and switches stop at 9216 to 9978 bytes (ConnectX: 9978).
_LARGEST_ETHERNET = 9978


def networks(cluster: Cluster) -> Iterator[Clash]:
    """No two subnets overlap, or a host would not know which link to take; each network is used, and can be so."""
    for (one, ours), (other, theirs) in combinations(cluster.networks.named().items(), 2):
        if ours.subnet.overlaps(theirs.subnet):
            yield Clash(
                "networks-overlap",
                f"the {one} network {ours.subnet} and the {other} network {theirs.subnet} share addresses",
                "give one of them a subnet of its own",
                (("networks", one, "subnet"), ("networks", other, "subnet")),
            )
    for name, network in cluster.networks.named().items():
        if not any(name in group.addresses for group in cluster.nodes.values()) and name != "management":
            yield Clash(
                "network-unused",
                f"the {name} network is declared, but no node group has an address on it",
                f"add `{name}:` to nodes.NAME.addresses, or take networks.{name} out",
                (("networks", name), ("nodes",)),
            )
        if network.kind != "infiniband" and network.mtu > _LARGEST_ETHERNET:
            yield Clash(
                "mtu-too-large",
                f"packets of {network.mtu} bytes do not fit Ethernet, which carries the {name} network",
                "set `mtu: 9000` (jumbo frames) or leave it out; 65520 is for IPoIB alone",
                (("networks", name, "mtu"), ("networks", name, "kind")),
            )
        if network.fabric == "rail-optimized" and network.rails == 1:
            yield Clash(
                "rails-missing",
                f"the {name} network is rail-optimized with one rail",
                "set `rails` to the ports per host, usually one a GPU, or take another fabric",
                (("networks", name, "fabric"), ("networks", name, "rails")),
            )
