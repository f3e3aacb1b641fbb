"""Time comes from outside the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._members import members


def time(cluster: Cluster) -> Iterator[Clash]:
    """No host of the cluster is the source of the control hosts: they are the source of all others."""
    ours = members(cluster)
    for index, server in enumerate(cluster.time.servers):
        if server in ours:
            yield Clash(
                "time-loop",
                f"`{server}` is to give the control hosts the time, and takes it from them",
                "name a server outside the cluster, or take it out: the control hosts then keep their own time",
                (("time", "servers", index), ("nodes",)),
            )
