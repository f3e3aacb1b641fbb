"""A job's image can be started on the cluster, from every host, and hides nothing that is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from clusterwright.config.cluster import Cluster
from clusterwright.config.images import runtime, starters
from clusterwright.config.job import Container, Job
from clusterwright.config.rules._clash import Clash, In

_OFFERED = In("cluster", ("environments", "containers"))
_IMAGE = In("job", ("container", "image"))


def container(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """One of the cluster's runtimes can start it, and its file is where every host sees it."""
    wanted = job.container
    if wanted is None:
        return
    if runtime(wanted.image, cluster) is None:
        yield _not_offered(wanted, cluster)
    shared = [folder.path for folder in cluster.storage.values()]
    if wanted.image.startswith("/") and not any(_within(wanted.image, top) for top in shared):
        yield Clash(
            "folder-not-shared",
            f"image {wanted.image} is not on shared storage, so other hosts do not have it",
            f"put it beneath {' or '.join(shared) or 'a folder of `storage:`'}",
            (_IMAGE, In("cluster", ("storage",))),
        )


def _not_offered(wanted: Container, cluster: Cluster) -> Clash:
    can, offered = " or ".join(starters(wanted.image)), ", ".join(cluster.environments.containers)
    return Clash(
        "container-runtime",
        f"image `{wanted.image}` is one for {can}, and the cluster offers {offered or 'no containers'}",
        f"add `containers: [{starters(wanted.image)[0]}]` to `environments:` of the cluster file, or take another"
        " image: a folder for oci, .sqsh for pyxis, .sif for apptainer",
        (_IMAGE, _OFFERED),
    )


def _within(path: str, top: str) -> bool:
    return PurePosixPath(path).is_relative_to(top)
