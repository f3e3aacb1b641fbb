"""Predicted speed of a fabric: the equivalent `Network`, and times of collectives and iterations on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.plan import collectives
from clusterwright.plan.fabric.parts import Fabric, FabricKind
from clusterwright.plan.run import Network

if TYPE_CHECKING:
    from clusterwright.plan.prediction import Time
    from clusterwright.plan.run import Machine, Run

GIB = 2**30
# With NCCL over TCP one port moves 4 to 6 GB/s of the 12.5 of its line rate, because every byte passes through the
# host's memory and a core: https://github.com/NVIDIA/nccl/issues/450. Used: 6, before the efficiency of 0.8.
TCP_PORT_BYTES_PER_S = 6e9 / 0.8


@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of a job's nodes: `ordered` by topology.conf, so that ring neighbors share a leaf, or scattered."""

    ordered: bool = True


ORDERED, SCATTERED = Placement(), Placement(ordered=False)


def network(fabric: Fabric, placement: Placement = ORDERED) -> Network:
    """Return the `Network` that a node of the fabric has, one direction: in a ring with half of its ports.

    Its oversubscription is that of the busiest cables if a job's nodes are placed as `placement` states.
    """
    ports: float = fabric.ports_per_node
    if fabric.kind is FabricKind.RING:
        ports = (
            fabric.ports_per_node // 2
        )  # NCCL's rings all have one direction; ports to the other side are idle
    node_network = Network(
        nics=ports,
        nic_bytes_per_s=fabric.port_bits_per_s / 8,
        latency_s=Network().latency_s + fabric.latency_s,
        oversubscription=crowding(fabric, placement),
        name=fabric.kind,
    )
    return as_kind(node_network, fabric.switch.protocol)


def as_kind(network: Network, kind: str) -> Network:
    """Return the network with another protocol; TCP over Ethernet does not reach the rate of fast ports."""
    rate = network.nic_bytes_per_s
    return replace(
        network, kind=kind, nic_bytes_per_s=min(rate, TCP_PORT_BYTES_PER_S) if kind == "ethernet" else rate
    )


def crowding(fabric: Fabric, placement: Placement) -> float:
    """Return the load of the busiest cables over their rate when every node sends to the next in a ring; at least 1.

    Ordered, one node of each leaf has its neighbor on another leaf. Scattered over U leaves, the neighbor is on another
    leaf in 1 - 1/U of all cases; in a ring of cables it is a quarter of the ring away.
    """
    if fabric.kind is FabricKind.RING:
        return 1.0 if placement.ordered else max(1.0, fabric.nodes / 4)
    if fabric.clos is None or not fabric.clos.spines:
        return 1.0
    leaves = fabric.clos.leaves
    full = min(leaves.nodes_per_leaf, fabric.nodes)
    crossing = 1.0 if placement.ordered else full * (1 - 1 / leaves.units)
    return max(1.0, crossing * leaves.node_ports / leaves.uplinks)


def on(machine: Machine, fabric: Fabric, placement: Placement = ORDERED) -> Machine:
    """Return the machine with this fabric as the network between its nodes, which are placed as `placement` says."""
    return replace(machine, network=network(fabric, placement))


def all_reduce_s(
    machine: Machine, fabric: Fabric, size_bytes: float = GIB, placement: Placement = ORDERED
) -> float:
    """Predict the seconds of an all-reduce (default: 1 GiB) over all GPUs of the machine on this fabric."""
    placed_machine, inside = on(machine, fabric, placement), min(machine.gpus_per_node, machine.gpus)
    return float(
        collectives.seconds(
            collectives.Collective.ALL_REDUCE, size_bytes, placed_machine, machine.gpus, inside
        )
    )


def step(run: Run, fabric: Fabric, placement: Placement = ORDERED) -> Time:
    """Predict the time of one iteration of a training with this fabric between the nodes.

    With expert parallelism every GPU communicates with all others, so the placement of nodes makes no difference.
    """
    from clusterwright.plan.speed import iteration

    spread = bool(run.training.architecture.experts) and run.layout.ep > 1
    effective_placement = SCATTERED if spread else placement
    return iteration(replace(run, machine=on(run.machine, fabric, effective_placement)))
