"""A quality of service is called what slurmdbd calls it."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash


def qos_names(cluster: Cluster) -> Iterator[Clash]:
    """Slurm writes names in lower case: two that differ by case would be one, and one not found again."""
    for name in cluster.qos:
        if name != name.lower():
            yield Clash(
                "qos-case",
                f"slurmdbd keeps names of qualities of service in lower case, and would call `{name}` "
                f"`{name.lower()}`",
                f"call it `{name.lower()}`, here and where it is named",
                (("qos", name),),
            )
