"""Compute the resources that a job requests on each host: GPUs, and their share of CPUs and memory."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.nodes import NodeGroup
from clusterwright.provision.render.slurm_nodes import free_memory_mib


@dataclass(frozen=True, slots=True)
class Share:
    """GPUs, CPUs and memory on each host of a job."""

    gres: str | None
    cpus: int
    memory_mib: int


def share(job: Job, cluster: Cluster) -> Share:
    """Return the share of a host for the job: the minimum over the node groups that can run it."""
    groups = [cluster.nodes[name] for name in cluster.partitions[partition(job, cluster)].nodes]
    groups = [group for group in groups if group.gpus and group.gpus.count >= job.gpus_per_node] or groups
    shares = [_host_share(job, group) for group in groups]
    types = {group.gpus.gres_type for group in groups if group.gpus}
    gres_type = f":{next(iter(types))}" if len(types) == 1 and "" not in types else ""
    return Share(
        gres=f"gpu{gres_type}:{job.gpus_per_node}" if types else None,
        cpus=min(cpus for cpus, _ in shares),
        memory_mib=min(memory for _, memory in shares),
    )


def partition(job: Job, cluster: Cluster) -> str:
    """Return the partition of the job; default: the cluster's default partition."""
    return job.partition or next(name for name, queue in cluster.partitions.items() if queue.default)


def _host_share(job: Job, group: NodeGroup) -> tuple[int, int]:
    memory = free_memory_mib(group)
    if group.gpus is None:
        return group.cpus.threads, memory
    part = job.gpus_per_node, group.gpus.count
    return max(job.gpus_per_node, group.cpus.threads * part[0] // part[1]), memory * part[0] // part[1]
