"""Compute the resources that a job requests on each host: GPUs, and their share of CPUs and memory."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.nodes import Gpus, NodeGroup
from clusterwright.slurm.records import gpu_type, number
from clusterwright.units import MiB


@dataclass(frozen=True, slots=True)
class Share:
    """GPUs, CPUs and memory on each host of a job; no memory where Slurm does not know that of the nodes."""

    gres: str | None
    cpus: int
    memory_mib: int | None


def share(job: Job, cluster: Cluster) -> Share:
    """Return the GRES, CPUs and memory of one host to request for the job: its GPUs' share of the host.

    It is the minimum over the node groups that can run it; memory is None if a group's is not known.
    """
    groups = [cluster.nodes[name] for name in cluster.partitions[partition(job, cluster)].nodes]
    groups = [group for group in groups if group.gpus and group.gpus.count >= job.gpus_per_node] or groups
    shares = [_host_share(job, group, cluster) for group in groups]
    types = {_gres_type(group, group.gpus) for group in groups if group.gpus}
    memories = [memory for _, memory in shares if memory is not None]
    gres_type = f":{next(iter(types))}" if len(types) == 1 and "" not in types else ""
    return Share(
        gres=f"gpu{gres_type}:{job.gpus_per_node}" if types else None,
        cpus=min(cpus for cpus, _ in shares),
        memory_mib=min(memories) if len(memories) == len(shares) else None,
    )


def partition(job: Job, cluster: Cluster) -> str:
    """Return the partition of the job; default: the cluster's default partition."""
    return job.partition or next(name for name, queue in cluster.partitions.items() if queue.default)


def _host_share(job: Job, group: NodeGroup, cluster: Cluster) -> tuple[int, int | None]:
    cpus, memory = host_cpus(group), host_memory_mib(group, cluster)
    if group.gpus is None:
        return cpus, memory
    cpus = cpus * job.gpus_per_node // group.gpus.count
    return max(job.gpus_per_node, cpus), part_of(memory, job.gpus_per_node, group.gpus.count)


def part_of(memory_mib: int | None, part: int, whole: int) -> int | None:
    """Return `part`/`whole` of a host's memory in MiB, at least 1, because Slurm takes 0 for all; None for None."""
    return None if memory_mib is None else max(1, memory_mib * part // whole)


def _option(group: NodeGroup, *keys: str) -> str:
    """Return the value of the group's NodeName line that replaces what a field sets; "" if there is none."""
    return next((value for key, value in group.options.items() if key.lower() in keys), "")


def _gres_type(group: NodeGroup, gpus: Gpus) -> str:
    line = _option(group, "gres")
    return gpu_type(line) if line else gpus.gres_type


def host_cpus(group: NodeGroup) -> int:
    """Return the CPUs that Slurm has of a host, by `cpus` of the group's options or else its threads."""
    return number(_option(group, "cpus", "procs")) or group.cpus.threads


def host_memory_mib(group: NodeGroup, cluster: Cluster) -> int | None:
    """Return the memory that jobs may allocate, by `realmemory` of the group's options or else its memory.

    None if it is configured as 1 MiB, Slurm's default.
    """
    configured = number(_option(group, "realmemory"))
    if configured is not None and configured <= 1:
        return None
    memory, reserved = configured or group.usable_memory_mib, _reserved_mib(group, cluster)
    # slurmctld counts a MemSpecLimit of all memory or more as 0.
    return memory - reserved if reserved < memory else memory


def _reserved_mib(group: NodeGroup, cluster: Cluster) -> int:
    """Return MemSpecLimit of the group's NodeName line; a site's own has only what the file sets."""
    if (configured := number(_option(group, "memspeclimit"))) is not None:
        return configured
    is_default = cluster.slurm.is_of_site and "memory_reserved" not in group.model_fields_set
    return 0 if is_default else group.memory_reserved // MiB
