"""A smaller limit lies within the larger one."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash


def team_limits(cluster: Cluster) -> Iterator[Clash]:
    """What one member or one job may take is no more than what all may take together."""
    for name, team in cluster.teams.items():
        yield from _over(("teams", name), "max_gpus_per_user", team.max_gpus_per_user, team.max_gpus)
    for name, qos in cluster.qos.items():
        yield from _over(("qos", name), "max_gpus_per_user", qos.max_gpus_per_user, qos.max_gpus)
        yield from _over(("qos", name), "max_gpus_per_job", qos.max_gpus_per_job, qos.max_gpus)


def _over(at: tuple[str, str], field: str, part: int | None, whole: int | None) -> Iterator[Clash]:
    """A whole of 0 shuts everything for a while, whatever its parts say."""
    if part is not None and whole and part > whole:
        yield Clash(
            "limit-over-limit",
            f"{at[0]} `{at[1]}`: {field} is {part}, but max_gpus of all together is {whole}",
            f"lower {field} to {whole} or less, or raise max_gpus",
            ((*at, field), (*at, "max_gpus")),
        )
