"""Qualities of service push each other aside in one direction."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._loops import loops
from clusterwright.config.rules._said import names
from clusterwright.config.rules._unknown import unknown

NORMAL = "normal"  # Slurm makes it with its database


def qos(cluster: Cluster) -> Iterator[Clash]:
    """What a quality of service preempts exists and never comes back at it, and its teams exist."""
    known = [NORMAL, *(name for name in cluster.qos if name != NORMAL)]
    for name, one in cluster.qos.items():
        for index, other in enumerate(one.preempts):
            if other not in known:
                at = (("qos", name, "preempts", index), ("qos",))
                yield unknown(f"qos `{name}`", "quality of service", other, known, at)
        for index, team in enumerate(one.teams):
            if team not in cluster.teams:
                at = (("qos", name, "teams", index), ("teams",))
                yield unknown(f"qos `{name}`", "team", team, cluster.teams, at)
    for loop in loops({name: one.preempts for name, one in cluster.qos.items()}):
        way = ", which preempts ".join(f"`{name}`" for name in (*loop[1:], loop[0]))
        yield Clash(
            "qos-loop",
            f"qos `{loop[0]}` preempts {way}: their jobs would push each other aside without end",
            f"take one `preempts` out of {names(loop)}",
            tuple(("qos", name, "preempts") for name in loop),
        )
