"""Every host belongs to one node group, and a group has hosts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold
from clusterwright.config.rules._clash import Clash


def hosts(cluster: Cluster) -> Iterator[Clash]:
    """No host is in two node groups; only hosts of a group are absent from it, and not all of them."""
    for name in cluster.nodes:
        yield from _absent(cluster, name)
    members = {name: frozenset(group.all_names()) for name, group in cluster.nodes.items()}
    for (one, ours), (other, theirs) in combinations(members.items(), 2):
        if both := sorted(ours & theirs):
            yield Clash(
                "host-in-two-groups",
                f"{fold(both)} is in node group `{one}` and in `{other}`",
                f"take {fold(both)} out of one of them",
                (("nodes", one, "hosts"), ("nodes", other, "hosts")),
            )


def _absent(cluster: Cluster, name: str) -> Iterator[Clash]:
    group = cluster.nodes[name]
    at = (("nodes", name, "absent"), ("nodes", name, "hosts"))
    gone = expand(group.absent) if group.absent else ()
    if strangers := [host for host in gone if host not in group.all_names()]:
        message = f"{fold(strangers)} is absent from node group `{name}`, but is none of its hosts"
        yield Clash("absent-host", message, f"name hosts of {group.hosts}, or take the line out", at)
    elif not group.names():
        message = f"every host of node group `{name}` is absent"
        yield Clash("absent-host", message, f"keep one, or take `{name}` out of the file", at)
