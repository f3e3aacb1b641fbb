"""Networks do not share addresses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.rules._clash import Clash


def networks(cluster: Cluster) -> Iterator[Clash]:
    """No two subnets overlap, or a host would not know which link to take."""
    for (one, ours), (other, theirs) in combinations(cluster.networks.named().items(), 2):
        if ours.subnet.overlaps(theirs.subnet):
            yield Clash(
                "networks-overlap",
                f"the {one} network {ours.subnet} and the {other} network {theirs.subnet} share addresses",
                "give one of them a subnet of its own",
                (("networks", one, "subnet"), ("networks", other, "subnet")),
            )
