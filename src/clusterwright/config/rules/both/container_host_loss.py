"""A job in an image recovers in a way that its agents can follow."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.images import runtime
from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash, In

_CAN = ("successor", "fail")


def container_host_loss(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Slurm can be asked from inside a bundle of `oci` alone; elsewhere nobody takes over from a lost supervisor."""
    policy = job.recovery.on_host_loss
    if job.container is None or policy in _CAN:
        return
    found = runtime(job.container.image, cluster)
    if found not in {"oci", None}:
        yield Clash(
            "container-host-loss",
            f"on host loss the job does `{policy}`, and in an image that {found} starts there is no Slurm to do it"
            " with when the supervisor's own host is lost",
            "set `on_host_loss: successor`: a new job goes on from the newest checkpoint; or take an OCI bundle",
            (In("job", ("recovery", "on_host_loss")), In("job", ("container", "image"))),
        )
