"""Every compute host has its place in the network that Slurm is told of."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._members import members
from clusterwright.config.rules._said import names


def topology(cluster: Cluster) -> Iterator[Clash]:
    """In a tree each group names its switch; a block is no larger than the cluster."""
    groups = {name: group for name, group in cluster.nodes.items() if group.role == "compute"}
    kind = cluster.slurm.topology
    without = [name for name, group in groups.items() if group.switch is None]
    some = len(without) < len(groups)
    if without and (kind == "tree" or (kind == "auto" and some)):
        why = "slurm.topology is tree" if kind == "tree" else "other groups name theirs"
        yield Clash(
            "switch-missing",
            f"{why}, but {names(without)} {'names' if len(without) == 1 else 'name'} no switch: "
            "Slurm gives no job to hosts that hang on none",
            "add `switch:` there, or set slurm.topology to none",
            (*(("nodes", name) for name in without), ("slurm", "topology")),
        )
    hosts = len(members(cluster, "compute"))
    if kind == "block" and hosts and cluster.slurm.block_size > hosts:
        yield Clash(
            "block-size",
            f"a block is {cluster.slurm.block_size} hosts, and the cluster has {hosts} compute hosts in all",
            "set block_size to the hosts of one NVLink domain, or slurm.topology to none",
            (("slurm", "block_size"), ("nodes",)),
        )
