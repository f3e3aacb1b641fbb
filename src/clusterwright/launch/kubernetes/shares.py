"""Compute the resource requests of pods and the capacity of node groups."""

from __future__ import annotations

from clusterwright.catalog.gpus import gpu
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.nodes import NodeGroup
from clusterwright.errors import WrightError
from clusterwright.launch.share import partition, share
from clusterwright.units import MiB

# Percentage that pods leave free; our choice: the kubelet reserves a part of each host (kube-reserved), and DaemonSets
# request some, so a pod that requests a whole host would stay pending forever.
RESERVED_PERCENT = 5
_DEVICES = {"AMD": "amd.com/gpu", "Intel": "gpu.intel.com/i915"}


def device(model: str) -> str:
    """Return the resource name of a GPU model in its vendor's device plugin; NVIDIA's for unknown ones."""
    try:
        return _DEVICES.get(gpu(model).vendor, "nvidia.com/gpu")
    except WrightError:
        return "nvidia.com/gpu"


def groups(job: Job, cluster: Cluster) -> list[str]:
    """Return the node groups of the job's partition whose hosts have enough GPUs, or all of them if none has."""
    names = cluster.partitions[partition(job, cluster)].nodes
    enough = [
        name for name in names if (gpus := cluster.nodes[name].gpus) and gpus.count >= job.gpus_per_node
    ]
    return enough or list(names)


def has_rdma(cluster: Cluster) -> bool:
    """Return whether the compute network is InfiniBand or RoCE."""
    return cluster.networks.compute is not None and cluster.networks.compute.kind != "ethernet"


def resources(job: Job, cluster: Cluster, rdma: str) -> dict[str, str]:
    """Return the requests of one pod: the batch script's share of a host, less what Kubernetes reserves."""
    part, models = share(job, cluster), _models(cluster, groups(job, cluster))
    return {
        "cpu": str(max(1, _allocatable(part.cpus))),
        **({} if part.memory_mib is None else {"memory": f"{_allocatable(part.memory_mib)}Mi"}),
        **({device(models[0]): str(job.gpus_per_node)} if models else {}),
        **({rdma: "1"} if has_rdma(cluster) and job.nodes > 1 else {}),
    }


def capacity(group: NodeGroup, cluster: Cluster, rdma: str, devices: tuple[str, ...]) -> dict[str, int]:
    """Return the resources of all hosts of a group, less what Kubernetes reserves; memory is in MiB.

    0 for a device that they do not have.
    """
    hosts, gpus = len(group.names()), group.gpus
    device_counts = dict.fromkeys(devices, 0)
    if gpus:
        device_counts[device(gpus.model)] = hosts * gpus.count
    return {
        "cpu": hosts * _allocatable(group.cpus.threads),
        "memory": hosts * _allocatable((group.memory - group.memory_reserved) // MiB),
        **device_counts,
        # RDMA adapters are shared: each pod requests one, and there are at most as many pods as GPUs.
        **({rdma: hosts * (gpus.count if gpus else 1)} if has_rdma(cluster) else {}),
    }


def devices(cluster: Cluster) -> tuple[str, ...]:
    """Return the resource names of all GPUs of the cluster."""
    return tuple(dict.fromkeys(device(model) for model in _models(cluster, list(cluster.nodes))))


def _models(cluster: Cluster, names: list[str]) -> list[str]:
    return [group.gpus.model for name in names if (group := cluster.nodes[name]).gpus]


def _allocatable(amount: int) -> int:
    return amount * (100 - RESERVED_PERCENT) // 100
