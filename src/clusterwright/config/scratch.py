"""Where jobs of a partition find local disk."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster


def scratch_of(cluster: Cluster, partition: str) -> str | None:
    """The mount that the hosts of all its groups have as their first; None where one has none, or another."""
    groups = [cluster.nodes[name] for name in cluster.partitions[partition].nodes if name in cluster.nodes]
    mounts = {next((disk.mount for disk in group.disks if disk.mount), None) for group in groups}
    return mounts.pop() if len(mounts) == 1 else None
