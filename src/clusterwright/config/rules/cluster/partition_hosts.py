"""The hosts of a partition are of one kind, and every compute host is in a partition."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._said import names
from clusterwright.units import format_size


def partition_hosts(cluster: Cluster) -> Iterator[Clash]:
    """A job of several hosts finds one network and one kind of GPU, whichever hosts of its partition it gets."""
    for name, partition in cluster.partitions.items():
        groups = {
            group: cluster.nodes[group]
            for group in partition.nodes
            if group in cluster.nodes and cluster.nodes[group].role == "compute"
        }
        if sum(len(group.names()) for group in groups.values()) > 1 and partition.max_nodes != 1:
            yield from _two_networks(name, groups)
            yield from _mixed(name, groups)
    yield from _idle(cluster)


def _two_networks(name: str, groups: dict[str, NodeGroup]) -> Iterator[Clash]:
    on = [group for group, one in groups.items() if "compute" in one.addresses]
    off = [group for group, one in groups.items() if "compute" not in one.addresses]
    if on and off:
        yield Clash(
            "two-networks",
            f"partition `{name}` holds {names(on)} on the compute network and {names(off)} that "
            f"{'is' if len(off) == 1 else 'are'} not: a training over both would not find its peers",
            "make a partition for each, or give all of them an address on the compute network",
            tuple(("nodes", group, "addresses") for group in (on[0], *off)),
        )


def _mixed(name: str, groups: dict[str, NodeGroup]) -> Iterator[Clash]:
    """Hosts without GPUs are never given to a job that asks for some."""
    kinds: dict[tuple[str, int | None], str] = {}
    for group_name, group in groups.items():
        if group.gpus:
            kinds.setdefault((group.gpus.model, group.gpus.memory), group_name)
    if len(kinds) > 1:
        said = " and ".join(f"{model}{f' {format_size(size)}' if size else ''}" for model, size in kinds)
        yield Clash(
            "mixed-gpus",
            f"partition `{name}` mixes {said}: a training over both goes at the pace of the slower, "
            "and with the memory of the smaller",
            "make a partition for each kind, or set `max_nodes: 1` so that no job has both",
            tuple(("nodes", group, "gpus", "model") for group in kinds.values()),
        )


def _idle(cluster: Cluster) -> Iterator[Clash]:
    used = {group for partition in cluster.partitions.values() for group in partition.nodes}
    for name, group in cluster.nodes.items():
        if group.role == "compute" and name not in used:
            first = next(iter(cluster.partitions), "NAME")
            yield Clash(
                "group-without-partition",
                f"node group `{name}` is in no partition, so no job would ever run there",
                f"add `{name}` to partitions.{first}.nodes, or make a partition for it",
                (("nodes", name), ("partitions",)),
            )
