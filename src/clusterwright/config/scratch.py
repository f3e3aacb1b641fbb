"""Find the local scratch folder of a partition."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster


def scratch_of(cluster: Cluster, partition: str) -> str | None:
    """Return the first disk mount of the partition's hosts; None if a node group has none or a different one."""
    groups = [cluster.nodes[name] for name in cluster.partitions[partition].nodes if name in cluster.nodes]
    mounts = {next((disk.mount for disk in group.disks if disk.mount), None) for group in groups}
    return mounts.pop() if len(mounts) == 1 else None
