"""Seconds of collectives between the GPUs of a run, by size and by how far the group reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.numbers import larger, log2, pick, smaller

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Machine

NVLINK_SHARE = 0.78  # of the link rate that a large ring reaches (235 of 300 GB/s on DGX A100)
NIC_SHARE = 0.92  # one NDR port: 46 of 50 GB/s
NVLINK_STEP_S = 1.5e-6


def bandwidth(machine: Machine, ranks: Real, stride: Real = 1) -> Real:
    """Bytes/s per GPU of a ring of `ranks` GPUs that lie `stride` apart, all such rings running at once."""
    net = machine.network
    inside = larger(smaller(ranks, machine.nvlink_domain / stride), 1)
    port = net.nics * net.nic_bytes_per_s / machine.gpus_per_node / net.oversubscription * NIC_SHARE
    nvlink = (machine.gpu.link_bytes_per_s or 16e9) * NVLINK_SHARE
    return pick(ranks * stride <= machine.nvlink_domain, nvlink, smaller(nvlink, port * inside))


def latency(machine: Machine, ranks: Real, stride: Real = 1) -> Real:
    """Seconds of the steps of a small message."""
    inside = machine.nvlink_domain
    step = pick(ranks * stride <= inside, NVLINK_STEP_S, machine.network.latency_s)
    return pick(ranks > 1, 1e-5 + 2 * step * log2(larger(ranks, 1)), 0.0)


def gather(size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """All-gather or reduce-scatter of `size_bytes`, counted whole."""
    moved = size_bytes * (ranks - 1) / ranks
    return moved / bandwidth(machine, ranks, stride) + latency(machine, ranks, stride)


def all_reduce(size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """All-reduce: a reduce-scatter and an all-gather."""
    return 2 * gather(size_bytes, ranks, machine, stride)


def all_to_all(size_bytes: Real, ranks: Real, machine: Machine, stride: Real = 1) -> Real:
    """Every GPU sends `size_bytes` in all, an even part to each; what leaves the NVLink domain goes by NIC."""
    net = machine.network
    inside = larger(smaller(ranks, machine.nvlink_domain / stride), 1)
    port = net.nics * net.nic_bytes_per_s / machine.gpus_per_node / net.oversubscription * NIC_SHARE
    near = size_bytes * (inside - 1) / ranks / ((machine.gpu.link_bytes_per_s or 16e9) * NVLINK_SHARE)
    far = size_bytes * (ranks - inside) / ranks / port
    return larger(near, far) + latency(machine, ranks, stride)


def send(size_bytes: Real, machine: Machine, apart: Real) -> Real:
    """One GPU to one that lies `apart` GPUs further."""
    net = machine.network
    port = net.nics * net.nic_bytes_per_s / machine.gpus_per_node / net.oversubscription * NIC_SHARE
    nvlink = (machine.gpu.link_bytes_per_s or 16e9) * NVLINK_SHARE
    return size_bytes / pick(apart < machine.nvlink_domain, nvlink, port) + 1e-5
