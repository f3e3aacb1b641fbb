"""What several hosts read and write lies where all of them see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash, In


def folders(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Checkpoints and data are on shared storage, and there is some for the run's own folder."""
    shared = [folder.path for folder in cluster.storage.values()]
    if not shared:
        yield Clash(
            "folder-not-shared",
            "the cluster has no shared folder, and a run is kept in one",
            "add a folder to `storage:` of the cluster file",
            (In("cluster", ("storage",)),),
        )
        return
    wanted: list[tuple[str, tuple[str | int, ...]]] = [
        (data.path, ("data", index, "path")) for index, data in enumerate(job.data)
    ]
    if job.checkpoint.folder is not None:
        wanted.append((job.checkpoint.folder, ("checkpoint", "folder")))
    for path, at in wanted:
        if not any(PurePosixPath(path).is_relative_to(top) for top in shared):
            yield Clash(
                "folder-not-shared",
                f"{path} is not on shared storage, so each host would have its own",
                f"put it beneath {' or '.join(shared)}",
                (In("job", at), In("cluster", ("storage",))),
            )
