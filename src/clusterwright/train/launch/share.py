"""What one job asks of each host: GPUs by model, and its share of processors and memory."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.errors import WrightError
from clusterwright.spec.cluster import Cluster
from clusterwright.spec.job import Job
from clusterwright.spec.nodes import NodeGroup
from clusterwright.units import MiB


@dataclass(frozen=True, slots=True)
class Share:
    """Of every host of the job."""

    gres: str | None
    cpus: int
    memory_mib: int


def share(job: Job, cluster: Cluster) -> Share:
    """The share that every host of the partition can give: the least of its groups.

    Raises:
        WrightError: no such partition, or it has fewer GPUs or hosts than asked.
    """
    groups = _groups(job, cluster)
    _enough_hosts(job, groups)
    shares = [_of(job, group) for group in groups]
    models = {group.gpus.model for group in groups if group.gpus}
    model = f":{next(iter(models))}" if len(models) == 1 else ""
    return Share(
        gres=f"gpu{model}:{job.gpus_per_node}" if models else None,
        cpus=min(cpus for cpus, _ in shares),
        memory_mib=min(memory for _, memory in shares),
    )


def partition(job: Job, cluster: Cluster) -> str:
    """The partition named in the job, else the default one.

    Raises:
        WrightError: the cluster has neither.
    """
    default = next((name for name, queue in cluster.partitions.items() if queue.default), None)
    name = job.partition or default or next(iter(cluster.partitions), "")
    if name not in cluster.partitions:
        known = ", ".join(cluster.partitions) or "none"
        raise WrightError.of(
            "unknown-partition",
            f"job `{job.name}` asks for partition `{name}`; cluster `{cluster.name}` has: {known}",
            "name one of them in `partition:`",
        )
    return name


def _groups(job: Job, cluster: Cluster) -> list[NodeGroup]:
    groups = [cluster.nodes[name] for name in cluster.partitions[partition(job, cluster)].nodes]
    with_gpus = [group for group in groups if group.gpus]
    return with_gpus or groups


def _enough_hosts(job: Job, groups: list[NodeGroup]) -> None:
    asked, have = job.nodes + job.recovery.spare_nodes, sum(len(group.names()) for group in groups)
    if asked > have:
        raise WrightError.of(
            "too-many-hosts",
            f"job `{job.name}` asks {job.nodes} hosts and {job.recovery.spare_nodes} spare ones;"
            f" its partition has {have}",
            f"set `nodes` and `recovery.spare_nodes` to {have} together, or less",
        )


def _of(job: Job, group: NodeGroup) -> tuple[int, int]:
    memory = (group.memory - group.memory_reserved) // MiB
    if group.gpus is None:
        return group.cpus.threads, memory
    if job.gpus_per_node > group.gpus.count:
        raise WrightError.of(
            "too-many-gpus",
            f"job `{job.name}` asks {job.gpus_per_node} GPUs per host; hosts {group.hosts} have {group.gpus.count}",
            f"set `gpus_per_node` to {group.gpus.count} or less",
        )
    part = job.gpus_per_node, group.gpus.count
    return max(job.gpus_per_node, group.cpus.threads * part[0] // part[1]), memory * part[0] // part[1]
