"""What a job gets that asks for nothing fits the hosts of its partition."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.rules._clash import Clash
from clusterwright.config.slurm import Partition
from clusterwright.units import format_duration, format_size

# As provision/render makes RealMemory: the kernel and firmware keep 1/32 of what is built in.
_KEPT = 32
_OF_GPUS = ("gpus_per_node", "headroom_percent", "cpus_per_gpu", "memory_per_gpu")


def job_defaults(cluster: Cluster) -> Iterator[Clash]:
    """The default time is within the longest, and every GPU of a host finds its CPUs and memory."""
    for name, partition in cluster.partitions.items():
        yield from _time(name, partition)
        groups = {
            group: cluster.nodes[group]
            for group in partition.nodes
            if group in cluster.nodes and cluster.nodes[group].role == "compute"
        }
        if groups and not any(group.gpus for group in groups.values()):
            yield from _no_gpus(name, partition)
            continue
        for group_name, group in groups.items():
            yield from _cpus(name, partition, group_name, group)
            yield from _memory(name, partition, group_name, group)


def _time(name: str, partition: Partition) -> Iterator[Clash]:
    if partition.default_time is not None and partition.default_time > partition.max_time:
        longest = format_duration(partition.max_time)
        yield Clash(
            "default-time",
            f"partition `{name}` gives a job {format_duration(partition.default_time)} by default, "
            f"and {longest} at most",
            f"set default_time to {longest} or less",
            (("partitions", name, "default_time"), ("partitions", name, "max_time")),
        )


def _no_gpus(name: str, partition: Partition) -> Iterator[Clash]:
    """Too many `gpus_per_node` is the finding of another rule."""
    for field in _OF_GPUS[1:]:
        if getattr(partition, field):
            yield Clash(
                "partition-without-gpus",
                f"partition `{name}` has no GPUs, so {field} means nothing there",
                f"take {field} out, or add a node group with GPUs",
                (("partitions", name, field), ("partitions", name, "nodes")),
            )


def _cpus(name: str, partition: Partition, group_name: str, group: NodeGroup) -> Iterator[Clash]:
    per, gpus = partition.cpus_per_gpu, group.gpus.count if group.gpus else 0
    if per is not None and per * gpus > group.cpus.threads:
        yield Clash(
            "cpus-per-gpu",
            f"{gpus} GPUs with {per} CPUs each are {per * gpus} CPUs, but a host of `{group_name}` "
            f"has {group.cpus.threads}",
            f"set cpus_per_gpu to {group.cpus.threads // gpus} or less, or take it out",
            (("partitions", name, "cpus_per_gpu"), ("nodes", group_name, "cpus")),
        )


def _memory(name: str, partition: Partition, group_name: str, group: NodeGroup) -> Iterator[Clash]:
    per, gpus = partition.memory_per_gpu, group.gpus.count if group.gpus else 0
    room = group.memory * (_KEPT - 1) // _KEPT - group.memory_reserved
    if per is not None and per * gpus > room > 0:
        most = (
            format_size(room // gpus // 2**30 * 2**30) if room // gpus >= 2**30 else format_size(room // gpus)
        )
        yield Clash(
            "memory-per-gpu",
            f"{gpus} GPUs with {format_size(per)} each take more than the {room / 2**30:.1f} GiB "
            f"that a host of `{group_name}` has for jobs",
            f"set memory_per_gpu to {most} or less, or take it out",
            (("partitions", name, "memory_per_gpu"), ("nodes", group_name, "memory")),
        )
