"""Data that is copied to the hosts' own disks has disks to go to."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash, In
from clusterwright.config.scratch import scratch_of


def staging(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """The partition's hosts have the same scratch, and the prolog that makes places on it is on."""
    index = next((index for index, data in enumerate(job.data) if data.stage == "local"), None)
    name = job.partition or next((name for name, part in cluster.partitions.items() if part.default), None)
    if index is None or name not in cluster.partitions:
        return
    at = In("job", ("data", index, "stage"))
    if scratch_of(cluster, name) is None:
        yield Clash(
            "no-scratch",
            f"data is to be copied to local disks, and the hosts of partition `{name}` have none that jobs know",
            "give each of its groups a disk with the same `mount: /scratch`, or set `stage: none`",
            (at, In("cluster", ("partitions", name, "nodes"))),
        )
    elif not cluster.slurm.health:
        yield Clash(
            "no-scratch",
            "data is to be copied to local disks, and the programs that give jobs a place there are off",
            "set slurm.health to true, or set `stage: none`",
            (at, In("cluster", ("slurm", "health"))),
        )
