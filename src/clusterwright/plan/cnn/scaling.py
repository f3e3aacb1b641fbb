"""Throughput and scaling efficiency over the number of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.plan.cnn.step import CnnJob, CnnStep, step
from clusterwright.plan.run import Machine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.plan.run import Network


@dataclass(frozen=True, slots=True)
class Point:
    """Predicted throughput on `nodes` nodes."""

    nodes: int
    images_per_s: float
    speedup: float  # over one node
    efficiency: float  # speedup over nodes
    step: CnnStep


def scaling(
    job: CnnJob, nodes: Iterable[int], network: Network, *, node_images_per_s: float | None = None
) -> tuple[Point, ...]:
    """Predict throughput for each number of nodes with a constant batch per GPU (weak scaling).

    Args:
        job: the job on one node.
        nodes: the numbers of nodes.
        network: the network between nodes.
        node_images_per_s: measured throughput of one node; if given, only the losses are predicted.
    """
    base = step(job)
    gpu_s = None if node_images_per_s is None else job.batch * job.machine.gpus / node_images_per_s
    if gpu_s is not None:
        gpu_s = max(gpu_s - base.communication, 0.0)
        base = step(job, gpu_s=gpu_s)
    points = []
    for count in nodes:
        machine: Machine = replace(job.machine, gpus=job.machine.gpus_per_node * count, network=network)
        iteration = step(replace(job, machine=machine), gpu_s=gpu_s) if count > 1 else base
        speedup = iteration.images_per_s / base.images_per_s
        points.append(Point(count, iteration.images_per_s, speedup, speedup / count, iteration))
    return tuple(points)
