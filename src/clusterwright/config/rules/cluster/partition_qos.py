"""Who may use a partition may name a quality of service there."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._unknown import unknown
from clusterwright.config.rules.cluster.qos import NORMAL
from clusterwright.config.slurm import Partition


def partition_qos(cluster: Cluster) -> Iterator[Clash]:
    """Each quality of service of a partition exists, and each side of team and quality has another side."""
    known = [NORMAL, *(name for name in cluster.qos if name != NORMAL)]
    for name, partition in cluster.partitions.items():
        for index, one in enumerate(partition.qos):
            at = ("partitions", name, "qos", index)
            if one not in known:
                yield unknown(f"partition `{name}`", "quality of service", one, known, (at, ("qos",)))
            elif not _who(cluster, partition, one):
                yield Clash(
                    "qos-unusable",
                    f"partition `{name}` takes qos `{one}`, but no team that may use the one may name the other",
                    f"add a team of partitions.{name}.teams to qos.{one}.teams, or take `{one}` out here",
                    (at, ("qos", one, "teams"), ("partitions", name, "teams")),
                )
        yield from _left_out(cluster, name, partition)


def _who(cluster: Cluster, partition: Partition, qos: str) -> set[str]:
    """Teams that may use the partition and name the quality of service."""
    found = set(partition.teams or cluster.teams)
    allowed = cluster.qos[qos].teams if qos in cluster.qos else ()
    return found & set(allowed) if allowed else found


def _left_out(cluster: Cluster, name: str, partition: Partition) -> Iterator[Clash]:
    """Teams that the partition lists, and that may name nothing there."""
    listed = [one for one in partition.qos if one in cluster.qos or one == NORMAL]
    for index, team in enumerate(partition.teams):
        if listed and not any(team in _who(cluster, partition, one) for one in listed):
            yield Clash(
                "qos-unusable",
                f"team `{team}` may use partition `{name}`, but may name no quality of service that it takes",
                f"add `{team}` to the teams of one of {', '.join(listed)}, or take it out here",
                (("partitions", name, "teams", index), ("partitions", name, "qos")),
            )
