"""What one pod asks for, and what a group of hosts has to give."""

from __future__ import annotations

from clusterwright.catalog.gpus import gpu
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.nodes import NodeGroup
from clusterwright.errors import WrightError
from clusterwright.launch.share import partition, share
from clusterwright.units import MiB

# ours: the kubelet keeps a part of each host for itself and the system (kube-reserved), and daemons ask for some, so
# a pod that asks for all of a host waits for ever
RESERVED_PERCENT = 5
_DEVICES = {"AMD": "amd.com/gpu", "Intel": "gpu.intel.com/i915"}


def device(model: str) -> str:
    """What a GPU of that model is called as a resource: by its maker's device plugin; NVIDIA's if it is not known."""
    try:
        return _DEVICES.get(gpu(model).vendor, "nvidia.com/gpu")
    except WrightError:
        return "nvidia.com/gpu"


def groups(job: Job, cluster: Cluster) -> list[str]:
    """Groups of the job's partition whose hosts have as many GPUs as it asks for."""
    names = cluster.partitions[partition(job, cluster)].nodes
    enough = [
        name for name in names if (gpus := cluster.nodes[name].gpus) and gpus.count >= job.gpus_per_node
    ]
    return enough or list(names)


def has_rdma(cluster: Cluster) -> bool:
    """True where the compute network is InfiniBand or RoCE."""
    return cluster.networks.compute is not None and cluster.networks.compute.kind != "ethernet"


def resources(job: Job, cluster: Cluster, rdma: str) -> dict[str, str]:
    """Of one pod: the share of a host that a batch script would ask for, less what Kubernetes keeps."""
    part, models = share(job, cluster), _models(cluster, groups(job, cluster))
    return {
        "cpu": str(max(1, _allocatable(part.cpus))),
        "memory": f"{_allocatable(part.memory_mib)}Mi",
        **({device(models[0]): str(job.gpus_per_node)} if models else {}),
        **({rdma: "1"} if has_rdma(cluster) and job.nodes > 1 else {}),
    }


def capacity(group: NodeGroup, cluster: Cluster, rdma: str, devices: tuple[str, ...]) -> dict[str, int]:
    """Of all hosts of a group; memory in MiB. A name that it has none of is there with 0."""
    hosts, gpus = len(group.names()), group.gpus
    device_counts = dict.fromkeys(devices, 0)
    if gpus:
        device_counts[device(gpus.model)] = hosts * gpus.count
    return {
        "cpu": hosts * _allocatable(group.cpus.threads),
        "memory": hosts * _allocatable((group.memory - group.memory_reserved) // MiB),
        **device_counts,
        # Shared: each pod takes one, and there are no more pods than GPUs.
        **({rdma: hosts * (gpus.count if gpus else 1)} if has_rdma(cluster) else {}),
    }


def devices(cluster: Cluster) -> tuple[str, ...]:
    """Every name that GPUs of the cluster have."""
    return tuple(dict.fromkeys(device(model) for model in _models(cluster, list(cluster.nodes))))


def _models(cluster: Cluster, names: list[str]) -> list[str]:
    return [group.gpus.model for name in names if (group := cluster.nodes[name]).gpus]


def _allocatable(amount: int) -> int:
    return amount * (100 - RESERVED_PERCENT) // 100
