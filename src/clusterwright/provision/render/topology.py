"""The network topology for Slurm: a tree of switches, or blocks of hosts (NVLink domains)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.errors import WrightError

Kind = Literal["none", "tree", "block"]


@dataclass(frozen=True, slots=True)
class Tree:
    """The hosts of each leaf switch, then the switches below each upper switch, bottom up."""

    leaf_switches: dict[str, tuple[str, ...]]
    above: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The hosts of each block, and the sizes that jobs are kept within: a block and its doublings."""

    blocks: dict[str, tuple[str, ...]]
    sizes: tuple[int, ...]


def kind_of(cluster: Cluster) -> Kind:
    """Return the kind of Slurm's topology in the file.

    `auto`: a tree if every compute group names its switch, else `none`. `none` without compute hosts. Slurm never
    schedules hosts without a switch in a tree.
    """
    groups = [group for group in cluster.nodes.values() if group.role == "compute"]
    if cluster.slurm.topology != "auto":
        return cluster.slurm.topology if groups else "none"
    return "tree" if groups and all(group.switch for group in groups) else "none"


def tree_of(cluster: Cluster) -> Tree:
    """Return the leaf switches of the cluster file, with the upper switches that the planner computes for them.

    Groups without `switch` are left out.
    """
    from clusterwright.plan.fabric.topology import levels

    leaf_switches: dict[str, list[str]] = {}
    for group in cluster.nodes.values():
        if group.role == "compute" and group.switch and group.names():
            leaf_switches.setdefault(group.switch, []).extend(group.names())
    hosts = {switch: tuple(names) for switch, names in leaf_switches.items()}
    return Tree(hosts, levels(list(hosts), _pods(cluster, hosts)))


def _pods(cluster: Cluster, leaf_switches: dict[str, tuple[str, ...]]) -> int:
    """Return the number of pods of the planned three-level fat tree if it has the file's leaves; else 0."""
    network = cluster.networks.compute
    if network is None or network.fabric != "fat-tree":
        return 0
    from clusterwright.plan.fabric.design import design
    from clusterwright.plan.fabric.switches import for_ports, usual_switch
    from clusterwright.plan.fabric.topology import placement, pods

    hosts = [host for names in leaf_switches.values() for host in names]
    try:
        switch = for_ports(usual_switch(network.rate, network.kind), network.rate)
        fabric = design("fat-tree", len(hosts), network.rails, switch)
    except WrightError:  # the planner cannot build a fabric of these switches, so its pods are unknown
        return 0
    is_match = list(placement(fabric, hosts).values()) == list(leaf_switches.values())
    return pods(fabric) if is_match else 0


def blocks_of(cluster: Cluster) -> Blocks:
    """Return the blocks into which each compute group is divided, in the order of hosts; smaller blocks first.

    Slurm 23.11 uses the size of the first block for all, and exits if another is smaller.
    """
    size = cluster.slurm.block_size
    blocks_by_name: dict[str, tuple[str, ...]] = {}
    for name, group in cluster.nodes.items():
        hosts = group.names() if group.role == "compute" else ()
        offsets = range(0, len(hosts), size)
        for number, offset in enumerate(offsets, 1):
            blocks_by_name[name if len(offsets) == 1 else f"{name}-{number}"] = tuple(
                hosts[offset : offset + size]
            )
    blocks = dict(sorted(blocks_by_name.items(), key=lambda item: len(item[1])))
    smallest = min(map(len, blocks.values()), default=1)
    return Blocks(blocks, tuple(smallest * 2**power for power in range(max(1, len(blocks)).bit_length())))
