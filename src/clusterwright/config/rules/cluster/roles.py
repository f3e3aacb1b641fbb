"""The cluster has the hosts without which it is none."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash


def roles(cluster: Cluster) -> Iterator[Clash]:
    """There is a control host, and each group keeps memory for jobs."""
    if not any(group.role == "control" for group in cluster.nodes.values()):
        yield Clash(
            "no-control-host",
            "no node group has the role control, and slurmctld needs a host",
            "add a node group with `role: control`",
            (("nodes",),),
        )
    for name, group in cluster.nodes.items():
        if group.memory_reserved >= group.memory:
            yield Clash(
                "memory-reserved",
                f"node group `{name}` keeps all of its memory from jobs",
                "lower memory_reserved below memory; 1GiB to 8GiB is usual",
                (("nodes", name, "memory_reserved"), ("nodes", name, "memory")),
            )
