"""slurm.conf, the same on every host."""

from __future__ import annotations

from clusterwright.build.render.slurm_keys import legal
from clusterwright.build.render.slurm_settings import slurm_settings
from clusterwright.spec.cluster import Cluster
from clusterwright.spec.names import fold
from clusterwright.spec.nodes import NodeGroup
from clusterwright.spec.once import once
from clusterwright.spec.slurm import Partition
from clusterwright.units import MiB, format_slurm_time

NODES = """
# Memory in MiB: 31/32 of what is built in (kernel and firmware keep the rest).
# MemSpecLimit of it is the system's own.
"""
PARTITIONS = """
# A job that asks for no memory gets the share of its GPUs or CPUs, not all of the host.
"""


@once
def slurm_conf(cluster: Cluster, header: str) -> str:
    """The whole file: settings with their reasons, then nodes, then partitions."""
    paragraphs = slurm_settings(cluster, tree=has_topology(cluster)).split("\n\n")
    kept = [_legal(paragraph, cluster.software.slurm) for paragraph in paragraphs]
    nodes = [_node(group) for group in cluster.nodes.values() if group.role == "compute"]
    partitions = [_partition(cluster, name, part) for name, part in cluster.partitions.items()]
    return "".join([header, *kept, NODES, *nodes, PARTITIONS, *partitions])


def _legal(paragraph: str, version: str) -> str:
    """The paragraph without lines that the release does not take; nothing when no key is left."""
    lines = paragraph.strip("\n").splitlines()
    kept = [line for line in lines if line.startswith("#") or legal(version, line)]
    return "".join(f"{line}\n" for line in ("", *kept)) if any(line[0] != "#" for line in kept) else ""


def has_topology(cluster: Cluster) -> bool:
    """True when every compute group names its switch: Slurm drops hosts that hang on none."""
    groups = [group for group in cluster.nodes.values() if group.role == "compute"]
    return bool(groups) and all(group.switch for group in groups)


def usable_memory_mib(group: NodeGroup) -> int:
    """What slurmd will find at least. A host that finds less than RealMemory is drained.

    A kernel keeps 64 of every 4096 bytes for itself (struct page: 1.6 %), firmware and the crash kernel about
    as much again: hence 31/32 of what the file says.
    """
    return group.memory // MiB * 31 // 32


def _node(group: NodeGroup) -> str:
    rows = [
        ("NodeName", fold(group.names())),
        ("Sockets", str(group.cpus.sockets)),
        ("CoresPerSocket", str(group.cpus.cores_per_socket)),
        ("ThreadsPerCore", str(group.cpus.threads_per_core)),
        ("RealMemory", str(usable_memory_mib(group))),
        ("MemSpecLimit", str(group.memory_reserved // MiB)),
    ]
    if group.gpus:
        rows.append(("Gres", f"gpu:{group.gpus.model}:{group.gpus.count}"))
    return _line([*rows, ("State", "UNKNOWN")])


def _partition(cluster: Cluster, name: str, partition: Partition) -> str:
    groups = [cluster.nodes[group] for group in partition.nodes]
    rows = [
        ("PartitionName", name),
        ("Nodes", fold([host for group in groups for host in group.names()])),
        ("Default", "YES" if partition.default else "NO"),
        ("MaxTime", format_slurm_time(partition.max_time)),
        *_memory_shares(groups),
    ]
    if partition.teams:
        rows.append(("AllowGroups", ",".join(partition.teams)))
    return _line([*rows, ("State", "UP")])


def _memory_shares(groups: list[NodeGroup]) -> list[tuple[str, str]]:
    """The smallest host's share per CPU, and per GPU for jobs that ask for GPUs."""
    free = [usable_memory_mib(group) - group.memory_reserved // MiB for group in groups]
    per_cpu = min(mib // group.cpus.threads for mib, group in zip(free, groups, strict=True))
    per_gpu = [mib // group.gpus.count for mib, group in zip(free, groups, strict=True) if group.gpus]
    return [("DefMemPerCPU", str(per_cpu)), *([("DefMemPerGPU", str(min(per_gpu)))] if per_gpu else [])]


def _line(rows: list[tuple[str, str]]) -> str:
    return " ".join(f"{key}={value}" for key, value in rows) + "\n"
