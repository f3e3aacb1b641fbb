"""Partitions hold what is there."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._unknown import unknown
from clusterwright.config.slurm import Partition


def partitions(cluster: Cluster) -> Iterator[Clash]:
    """Each names compute groups and teams that exist and GPUs that a host has; one is the default."""
    yield from _defaults(cluster)
    for name, partition in cluster.partitions.items():
        yield from _groups(cluster, name, partition)
        for index, team in enumerate(partition.teams):
            if team not in cluster.teams:
                at = ("partitions", name, "teams", index)
                yield unknown(f"partition `{name}`", "team", team, cluster.teams, (at, ("teams",)))


def _groups(cluster: Cluster, name: str, partition: Partition) -> Iterator[Clash]:
    for index, group_name in enumerate(partition.nodes):
        at = ("partitions", name, "nodes", index)
        group = cluster.nodes.get(group_name)
        if group is None:
            yield unknown(f"partition `{name}`", "node group", group_name, cluster.nodes, (at, ("nodes",)))
        elif group.role != "compute":
            yield Clash(
                "not-compute",
                f"partition `{name}` holds node group `{group_name}`, whose role is {group.role}",
                f"take `{group_name}` out; only compute hosts run jobs",
                (at, ("nodes", group_name, "role")),
            )
        else:
            yield from _gpus(cluster, name, group_name)


def _gpus(cluster: Cluster, name: str, group_name: str) -> Iterator[Clash]:
    asked, gpus = cluster.partitions[name].gpus_per_node, cluster.nodes[group_name].gpus
    has = gpus.count if gpus else 0
    if asked is not None and asked > has:
        side = ("nodes", group_name, "gpus", "count") if gpus else ("nodes", group_name)
        mend = f"set gpus_per_node to {has}" if has else "take gpus_per_node out"
        yield Clash(
            "gres-mismatch",
            f"partition `{name}` asks {asked} GPUs per node, but a host of `{group_name}` has {has}",
            f"{mend}, or give `{name}` a node group with {asked} GPUs",
            (("partitions", name, "gpus_per_node"), side),
        )


def _defaults(cluster: Cluster) -> Iterator[Clash]:
    chosen = [name for name, partition in cluster.partitions.items() if partition.default]
    if not chosen:
        message = "no partition is the default, so a job that names none would be refused"
        yield Clash("default-partition", message, "set `default: true` on one partition", (("partitions",),))
    if len(chosen) > 1:
        names = " and ".join(f"`{name}`" for name in chosen)
        yield Clash(
            "default-partition",
            f"{names} are each the default partition",
            "set `default: true` on one of them only",
            tuple(("partitions", name, "default") for name in chosen),
        )
