"""Each team can run jobs somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash


def partition_teams(cluster: Cluster) -> Iterator[Clash]:
    """No team with members is left out of all partitions."""
    lists = [partition.teams for partition in cluster.partitions.values()]
    if not lists or not all(lists) or not {team for teams in lists for team in teams} <= set(cluster.teams):
        return  # a partition without a list is open to all; a name that is unknown was to be one of them
    members = {team for user in cluster.users.values() for team in (user.team, *user.also_in)}
    for name in cluster.teams:
        if name in members and not any(name in teams for teams in lists):
            first = next(iter(cluster.partitions))
            yield Clash(
                "team-shut-out",
                f"every partition lists its teams, and `{name}` is in no list: its members could run nothing",
                f"add `{name}` to partitions.{first}.teams or another's",
                (("teams", name), *(("partitions", one, "teams") for one in cluster.partitions)),
            )
