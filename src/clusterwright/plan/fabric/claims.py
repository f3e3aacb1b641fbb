"""What field guides say of networks, computed: each function gives the figures that a verdict is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.plan import collectives
from clusterwright.plan.fabric.advice import step_on
from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.expected import ORDERED, SCATTERED, step
from clusterwright.plan.fabric.parts import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.plan.fabric.expected import Placement
    from clusterwright.plan.fabric.parts import Fabric, Switch
    from clusterwright.plan.run import Machine, Run

MOST_CROWDED = 64.0  # uplinks wanted this many times over: one uplink for a 64-port switch


@dataclass(frozen=True, slots=True)
class StarAgainstSpine:
    """GPU utilisation of leaf-spine over that of a star, less 1; and what it would take for a claimed gain."""

    one_switch: float  # all nodes on one switch
    grown: float  # a star whose switches hang on one in the middle, jobs in order
    grown_scattered: float  # likewise, jobs anywhere
    crowding_of_star: float  # how many times over the grown star's uplinks are wanted
    crowding_for_claim: float  # at which the claimed gain comes true; infinite: at none


def leaf_spine_over_star(run: Run, switch: Switch, claimed: float = 0.35) -> StarAgainstSpine:
    """The guides' "+35% GPU utilisation over a star at 16 nodes", for this run's nodes and ports.

    `one_switch` takes a switch that is large enough; `grown` takes the given one, and joins so many of it.
    """
    machine = run.machine
    nodes, ports = machine.gpus // machine.gpus_per_node, int(machine.network.nics)
    spine = design(Kind.LEAF_SPINE, nodes, ports, switch)
    large = replace(switch, ports=max(switch.ports, nodes * ports))
    star, grown = design(Kind.STAR, nodes, ports, large), design(Kind.STAR, nodes, ports, switch)
    ours = float(step(run, spine).total)

    def lost(made: Fabric, placement: Placement) -> float:
        return float(step(run, made, placement).total) / ours - 1

    return StarAgainstSpine(
        lost(star, ORDERED), lost(grown, ORDERED), lost(grown, SCATTERED),
        grown.oversubscription, _crowding_for(run, ours, claimed),
    )  # fmt: skip


def _crowding_for(run: Run, ours_s: float, claimed: float) -> float:
    """By bisection: step time only grows with crowding."""
    network, low, high = run.machine.network, 1.0, MOST_CROWDED
    wanted = ours_s * (1 + claimed)
    if step_on(run, replace(network, oversubscription=high)) < wanted:
        return float("inf")
    while high - low > 0.01:
        middle = (low + high) / 2
        slow = step_on(run, replace(network, oversubscription=middle)) >= wanted
        low, high = (low, middle) if slow else (middle, high)
    return high


def latency_saved(machine: Machine, against: str = "ethernet", size_bytes: float = 8.0) -> float:
    """The guides' "InfiniBand cuts NCCL's latency by 40% or more": share of a small all-reduce's time saved.

    `against`: ethernet (TCP) or roce. A barrier moves a few bytes; gradients do not.
    """
    ours, theirs = (_all_reduce_s(machine, kind, size_bytes) for kind in ("infiniband", against))
    return 1 - ours / theirs


def _all_reduce_s(machine: Machine, kind: str, size_bytes: float) -> float:
    joined = replace(machine, network=replace(machine.network, kind=kind))
    inside = min(machine.gpus_per_node, machine.gpus)
    return float(collectives.seconds(collectives.Kind.ALL_REDUCE, size_bytes, joined, machine.gpus, inside))


def gain_by_model(runs: Iterable[Run], against: str = "ethernet") -> dict[str, float]:
    """The guides' "InfiniBand matters above a billion parameters, or with DDP or FSDP": model to share of a step saved.

    One run per model size; the network of each is taken as InfiniBand and as the other kind.
    """
    saved = {}
    for run in runs:
        ours, theirs = (
            step_on(run, replace(run.machine.network, kind=kind)) for kind in ("infiniband", against)
        )
        saved[run.training.architecture.name] = 1 - ours / theirs
    return saved
