"""Head-room leaves something to run on."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash


def headroom(cluster: Cluster) -> Iterator[Clash]:
    """At least one GPU is left to the jobs of a partition that keeps head-room."""
    for name, partition in cluster.partitions.items():
        groups = [cluster.nodes[group] for group in partition.nodes if group in cluster.nodes]
        gpus = sum(group.gpus.count * len(group.names()) for group in groups if group.gpus)
        percent = partition.headroom_percent
        if gpus and percent and gpus * (100 - percent) // 100 < 1:
            yield Clash(
                "headroom-too-high",
                f"partition `{name}` has {gpus} GPUs; with {percent} % kept free its jobs may hold none",
                f"set headroom_percent to {100 - -(-100 // gpus)} or less" if gpus > 1 else "take it out",
                (("partitions", name, "headroom_percent"), ("partitions", name, "nodes")),
            )
