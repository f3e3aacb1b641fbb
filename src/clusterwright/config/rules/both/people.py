"""Who runs the job is known to the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash, In
from clusterwright.config.rules._unknown import unknown


def people(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """The user and the team exist, and belong together."""
    if job.user is not None and job.user not in cluster.users:
        yield unknown(
            "the job", "user", job.user, cluster.users, (In("job", ("user",)), In("cluster", ("users",)))
        )
    if job.team is not None and job.team not in cluster.teams:
        yield unknown(
            "the job", "team", job.team, cluster.teams, (In("job", ("team",)), In("cluster", ("teams",)))
        )
    user = cluster.users.get(job.user or "")
    if user and job.team in cluster.teams and job.team != user.team:
        yield Clash(
            "team-mismatch",
            f"the job counts against team `{job.team}`, but user `{job.user}` is of team `{user.team}`",
            f"set `team: {user.team}`, or take the line out",
            (In("job", ("team",)), In("cluster", ("users", job.user or "", "team"))),
        )
