"""Lines of nodes and partitions in slurm.conf."""

from __future__ import annotations

import math
from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.slurm import Partition
from clusterwright.provision.render.slurm_lines import Row, conf_line
from clusterwright.units import GiB, MiB, format_slurm_time

NODES = """
# Memory in MiB: 31/32 of the installed memory (kernel and firmware reserve the rest). MemSpecLimit is reserved for the
# system.
"""
PARTITIONS = """
# A job without a CPU or memory request gets the share of its GPUs, or the memory of its CPUs, not the whole host.
"""
BILLED = """# Billing: a GPU is 100, and the CPUs or the memory that are a GPU's share are 100 too.
"""
GPU_BILLED = 100  # a choice: any number does, as long as it is the same in all partitions


def nodes(cluster: Cluster) -> str:
    """Return slurm.conf's NodeName lines as text, one for each compute group that has hosts."""
    groups = [group for group in cluster.nodes.values() if group.role == "compute" and group.names()]
    return NODES + "".join(conf_line(_node(group), group.options) for group in groups)


def partitions(cluster: Cluster) -> str:
    """Return slurm.conf's PartitionName lines as text, one for each partition, below comments."""
    lines = [
        conf_line(_partition(cluster, name, part), part.options) for name, part in cluster.partitions.items()
    ]
    return (
        PARTITIONS + (BILLED if any("TRESBillingWeights" in line for line in lines) else "") + "".join(lines)
    )


def _node(group: NodeGroup) -> list[Row]:
    rows = [
        ("NodeName", fold(group.names())),
        ("Sockets", str(group.cpus.sockets)),
        ("CoresPerSocket", str(group.cpus.cores_per_socket)),
        ("ThreadsPerCore", str(group.cpus.threads_per_core)),
        ("RealMemory", str(group.usable_memory_mib)),
        ("MemSpecLimit", str(group.memory_reserved // MiB)),
    ]
    if group.gpus:
        rows.append(("Gres", f"gpu:{group.gpus.model}:{group.gpus.count}"))
    return [*rows, ("State", "UNKNOWN")]


def _partition(cluster: Cluster, name: str, partition: Partition) -> Iterator[Row]:
    groups = [cluster.nodes[group] for group in partition.nodes]
    yield "PartitionName", name
    yield "Nodes", fold([host for group in groups for host in group.names()])
    yield "Default", "YES" if partition.default else "NO"
    yield from partition_limits(partition)
    yield from _shares(groups, partition)
    if cluster.accounting.enabled:
        yield from _billing(groups)
    yield from _admission(cluster, name, partition)
    yield "State", "UP"


def partition_limits(partition: Partition) -> Iterator[Row]:
    """Yield time limits, maximum size, priority and exclusive use of a partition, where they are no defaults.

    MaxTime is always there.
    """
    yield "MaxTime", format_slurm_time(partition.max_time)
    if partition.default_time is not None:
        yield "DefaultTime", format_slurm_time(partition.default_time)
    if partition.max_nodes is not None:
        yield "MaxNodes", str(partition.max_nodes)
    if partition.priority != 1:  # Slurm's default
        yield "PriorityTier", str(partition.priority)
    if partition.exclusive:
        yield "OverSubscribe", "EXCLUSIVE"


def _shares(groups: list[NodeGroup], partition: Partition) -> Iterator[Row]:
    """Yield a job's default memory per CPU, and memory and CPUs per GPU: the share on the smallest host, in MiB.

    Values of the partition override those per GPU, which only partitions with GPUs have.
    """
    yield "DefMemPerCPU", str(min(group.free_memory_mib // group.cpus.threads for group in groups))
    with_gpus = [(group, group.gpus.count) for group in groups if group.gpus]
    if with_gpus:
        cpus = min(group.cpus.threads // count for group, count in with_gpus)
        memory = min(group.free_memory_mib // count for group, count in with_gpus)
        if partition.memory_per_gpu is not None:
            memory = partition.memory_per_gpu // MiB
        yield "DefCpuPerGPU", str(max(1, partition.cpus_per_gpu or cpus))
        yield "DefMemPerGPU", str(memory)


def _billing(groups: list[NodeGroup]) -> Iterator[Row]:
    """Yield billing weights, if any group has GPUs; they are those of the hosts with most CPUs and memory per GPU.

    By default Slurm bills CPUs only: a job of eight GPUs and one CPU is nearly free.
    """
    with_gpus = [(group, group.gpus.count) for group in groups if group.gpus]
    if with_gpus:
        cpu = min(GPU_BILLED * count / group.cpus.threads for group, count in with_gpus)
        memory = min(GPU_BILLED * count / (group.free_memory_mib * MiB / GiB) for group, count in with_gpus)
        # Rounded down: CPUs and memory of all GPUs are never billed above the GPUs, from which headroom is computed.
        cpu, memory = math.floor(cpu * 100) / 100, math.floor(memory * 100) / 100
        yield "TRESBillingWeights", f"CPU={cpu:.2f},Mem={memory:.2f}G,GRES/gpu={GPU_BILLED}"


def _admission(cluster: Cluster, name: str, partition: Partition) -> Iterator[Row]:
    """Yield the keys that limit access to the partition: teams as Unix groups; with accounting, its QOS.

    Nothing for a partition without teams, QOS and headroom.
    """
    if partition.teams:
        yield "AllowGroups", ",".join(partition.teams)
    if not cluster.accounting.enabled:
        return
    if partition.qos:
        yield "AllowQos", ",".join(partition.qos)
    if partition.headroom_percent:
        yield "QoS", headroom_qos(name)


def headroom_qos(partition: str) -> str:
    """Return the name of the partition QOS whose limit keeps headroom (decision 0004).

    Lower case, because sacctmgr stores names so.
    """
    return f"headroom-{partition.lower()}"
