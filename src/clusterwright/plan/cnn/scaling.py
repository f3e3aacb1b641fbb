"""Throughput over the number of nodes, and what share of the ideal is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.plan.cnn.step import Job, Step, step
from clusterwright.plan.run import Machine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.plan.run import Network


@dataclass(frozen=True, slots=True)
class Point:
    """So many nodes."""

    nodes: int
    images_per_s: float
    speedup: float  # over one node
    efficiency: float  # speedup over nodes
    step: Step


def scaling(
    job: Job, nodes: Iterable[int], network: Network, *, node_images_per_s: float | None = None
) -> tuple[Point, ...]:
    """One point for each number of nodes, the batch of a GPU kept.

    Args:
        job: on one node.
        nodes: numbers of nodes.
        network: between them.
        node_images_per_s: what one node was measured to do; where given, only the losses are predicted.
    """
    first = step(job)
    own = None if node_images_per_s is None else job.batch * job.machine.gpus / node_images_per_s
    if own is not None:
        own = max(own - first.communication, 0.0)
        first = step(job, own_s=own)
    points = []
    for count in nodes:
        machine: Machine = replace(job.machine, gpus=job.machine.gpus_per_node * count, network=network)
        found = step(replace(job, machine=machine), own_s=own) if count > 1 else first
        speedup = found.images_per_s / first.images_per_s
        points.append(Point(count, found.images_per_s, speedup, speedup / count, found))
    return tuple(points)
