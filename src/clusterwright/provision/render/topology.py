"""The network topology for Slurm: a tree of switches, or blocks of hosts (NVLink domains)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.errors import WrightError

Kind = Literal["none", "tree", "block"]


@dataclass(frozen=True, slots=True)
class Tree:
    """Hosts of each leaf switch, then the switches under each one above, bottom up."""

    leaf_switches: dict[str, tuple[str, ...]]
    above: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Hosts of each block, and the sizes that jobs are kept within: that of a block, and doublings of it."""

    blocks: dict[str, tuple[str, ...]]
    sizes: tuple[int, ...]


def kind_of(cluster: Cluster) -> Kind:
    """As the file says; auto: a tree when every compute group names its switch.

    Slurm never gives work to hosts that hang on no switch.
    """
    groups = [group for group in cluster.nodes.values() if group.role == "compute"]
    if cluster.slurm.topology != "auto":
        return cluster.slurm.topology if groups else "none"
    return "tree" if groups and all(group.switch for group in groups) else "none"


def tree_of(cluster: Cluster) -> Tree:
    """The leaves that the file names, and above them what the planner says of such a fabric."""
    from clusterwright.plan.fabric.topology import levels

    leaf_switches: dict[str, list[str]] = {}
    for group in cluster.nodes.values():
        if group.role == "compute" and group.switch and group.names():
            leaf_switches.setdefault(group.switch, []).extend(group.names())
    hosts = {switch: tuple(names) for switch, names in leaf_switches.items()}
    return Tree(hosts, levels(list(hosts), _pods(cluster, hosts)))


def _pods(cluster: Cluster, leaf_switches: dict[str, tuple[str, ...]]) -> int:
    """How many pods a three-level fat tree of so many hosts has, where its leaves are those of the file; else 0."""
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
    except WrightError:  # no such fabric is built of such switches: then nothing is known of its pods
        return 0
    is_match = list(placement(fabric, hosts).values()) == list(leaf_switches.values())
    return pods(fabric) if is_match else 0


def blocks_of(cluster: Cluster) -> Blocks:
    """Each compute group cut into blocks, in the order of its hosts; smaller ones first.

    Slurm 23.11 takes the first block as the size of all, and ends where another one is smaller.
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
