"""slurm.conf of a site (`slurm.defaults: slurm`): only what the cluster file sets, without settings of our own."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.slurm import Partition
from clusterwright.provision.render.slurm_lines import Row, conf_line
from clusterwright.provision.render.slurm_nodes import partition_limits
from clusterwright.units import MiB

CONTROLLERS = "SlurmctldHost"  # an option with several controllers has a line for each


def site_slurm_conf(cluster: Cluster) -> str:
    """Return the settings, the nodes and the partitions that the file sets, as paragraphs, without defaults of ours."""
    options = {key: value for key, value in cluster.slurm.options.items() if key != CONTROLLERS}
    named = {"ClusterName": cluster.name} if "ClusterName" not in options else {}
    settings = [conf_line([], {key: value}) for key, value in {**named, **options}.items()]
    settings[1:1] = [conf_line([(CONTROLLERS, name)], {}) for name in _controllers(cluster)]
    groups = [group for name, group in cluster.nodes.items() if runs_jobs(cluster, name)]
    nodes = [conf_line(_node(group), group.options) for group in groups if group.names()]
    partitions = [
        conf_line(_partition(cluster, name, partition), partition.options)
        for name, partition in cluster.partitions.items()
    ]
    return "\n".join("".join(part) for part in ([], settings, nodes, partitions))


def runs_jobs(cluster: Cluster, group_name: str) -> bool:
    """Return whether the group's hosts run slurmd: compute hosts, and control hosts that a partition lists."""
    is_listed = any(group_name in partition.nodes for partition in cluster.partitions.values())
    return is_listed or cluster.nodes[group_name].role == "compute"


def _controllers(cluster: Cluster) -> list[str]:
    declared = cluster.slurm.options.get(CONTROLLERS)
    return declared.split(",") if declared else [host.name for host in cluster.hosts("control")]


def _node(group: NodeGroup) -> Iterator[Row]:
    """Yield the keys of a node line; reserved memory only where the file sets it."""
    yield "NodeName", fold(group.names())
    yield "Sockets", str(group.cpus.sockets)
    yield "CoresPerSocket", str(group.cpus.cores_per_socket)
    yield "ThreadsPerCore", str(group.cpus.threads_per_core)
    yield "RealMemory", str(group.usable_memory_mib)
    if "memory_reserved" in group.model_fields_set:
        yield "MemSpecLimit", str(group.memory_reserved // MiB)
    if group.gpus:
        yield "Gres", f"gpu:{group.gpus.model}:{group.gpus.count}"


def _partition(cluster: Cluster, name: str, partition: Partition) -> Iterator[Row]:
    yield "PartitionName", name
    yield "Nodes", fold([host for group in partition.nodes for host in cluster.nodes[group].names()])
    if partition.default:
        yield "Default", "YES"
    yield from partition_limits(partition)
