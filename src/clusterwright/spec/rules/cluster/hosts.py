"""Every host belongs to one node group."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.names import fold
from clusterwright.spec.rules._clash import Clash


def hosts(cluster: Cluster) -> Iterator[Clash]:
    """No host is in two node groups."""
    members = {name: frozenset(group.names()) for name, group in cluster.nodes.items()}
    for (one, ours), (other, theirs) in combinations(members.items(), 2):
        if both := sorted(ours & theirs):
            yield Clash(
                "host-in-two-groups",
                f"{fold(both)} is in node group `{one}` and in `{other}`",
                f"take {fold(both)} out of one of them",
                (("nodes", one, "hosts"), ("nodes", other, "hosts")),
            )
