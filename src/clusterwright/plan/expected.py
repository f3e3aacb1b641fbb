"""Expected measurements of a cluster's GPUs and network, which checks and monitoring compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright import catalog
from clusterwright.i18n import _
from clusterwright.plan.collectives import Collective, bus_bw_bytes_per_s
from clusterwright.plan.machines import gpu_like, machine_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.config.cluster import Cluster
    from clusterwright.config.nodes import Gpus
    from clusterwright.plan.run import Machine

LARGE_BYTES = 8 * 2**30  # size at which published nccl-tests bandwidths are read: latency is negligible


@dataclass(frozen=True, slots=True)
class Expected:
    """An expected measurement of one node group, in bytes, bytes/s or FLOP/s, and the program that measures it."""

    group: str
    metric: str
    value: float
    unit: str
    benchmark: str


def expected(cluster: Cluster) -> tuple[Expected, ...]:
    """Return the expected measurements of every node group with GPUs.

    Raises:
        WrightError: the catalog has no such GPU.
    """
    having = [name for name, group in cluster.nodes.items() if group.gpus]
    return tuple(figure for name in having for figure in _of_group(cluster, name))


def gpu_memory_bytes(gpus: Gpus) -> float:
    """Return the memory that CUDA offers on a node group's GPU, in bytes: from the cluster file, else the catalog.

    Raises:
        WrightError: neither the cluster file nor the catalog has it.
    """
    return float(gpus.memory or gpu_like(gpus, catalog.gpus().values()).usable_bytes)


def _of_group(cluster: Cluster, name: str) -> Iterator[Expected]:
    machine = machine_of(cluster, name, catalog.gpus().values())
    gpu = machine.gpu
    yield Expected(name, _("memory of one GPU"), gpu.usable_bytes, "bytes", "nvidia-smi")
    if gpu.memory_bytes_per_s:
        yield Expected(name, _("memory bandwidth, at most"), gpu.memory_bytes_per_s, "bytes/s", "nvbandwidth")
    for precision, rate in sorted((gpu.achieved or {}).items()):
        yield Expected(
            name,
            _("largest {precision} matrix product", precision=precision),
            rate,
            "FLOP/s",
            _("a sweep of torch.matmul"),
        )
    yield from _collectives(name, machine)


def _collectives(name: str, machine: Machine) -> Iterator[Expected]:
    """Yield the all-reduce bus bandwidth as all_reduce_perf prints it, and the line rate of one network port.

    Bandwidths are those within one node of several GPUs, and across all nodes; the port only with several nodes.
    """
    if machine.gpus_per_node > 1:
        value = bus_bw_bytes_per_s(
            Collective.ALL_REDUCE, LARGE_BYTES, machine, machine.gpus_per_node, machine.gpus_per_node
        )
        yield Expected(name, _("all-reduce inside a node"), float(value), "bytes/s", "all_reduce_perf -b 8G")
    if machine.gpus > machine.gpus_per_node:
        domain = max(machine.gpus_per_node, min(machine.nvlink_domain, machine.gpus))
        value = bus_bw_bytes_per_s(Collective.ALL_REDUCE, LARGE_BYTES, machine, machine.gpus, domain)
        yield Expected(name, _("all-reduce over all nodes"), float(value), "bytes/s", "all_reduce_perf -b 8G")
        port = machine.network.nic_bytes_per_s
        yield Expected(name, _("one port, at most"), port, "bytes/s", _("ib_write_bw or iperf3"))
