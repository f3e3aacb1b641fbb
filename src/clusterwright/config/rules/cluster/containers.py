"""Runtimes of containers can be installed, and what they unpack is on the hosts' own disks."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash, is_within
from clusterwright.config.cluster import Cluster


def containers(cluster: Cluster) -> Iterator[Clash]:
    """There are packages of each; layers and compiled kernels are on no shared folder, and shared caches on one."""
    yield from _packages(cluster)
    where = cluster.environments
    shared = [
        folder.path for folder in cluster.storage.values() if folder.path != "/"
    ]  # which is refused as such
    for path, at in ((where.scratch, ("scratch",)), (where.caches.local, ("caches", "local"))):
        if path and any(is_within(path, top) for top in shared):
            yield Clash(
                "scratch-shared",
                f"{path} is on shared storage, and what is kept there are many small files of each host",
                "name a folder of the hosts' own disks, such as /scratch or /var/tmp",
                (("environments", *at),),
            )
    path = where.caches.shared
    if path and not any(is_within(path, top) and path != top for top in shared):
        yield Clash(
            "folder-not-shared",
            f"{path} is not beneath a shared folder, so each host would have its own",
            f"put it beneath {' or '.join(shared) or 'a folder of `storage:`'}",
            (("environments", "caches", "shared"), ("storage",)),
        )


def _packages(cluster: Cluster) -> Iterator[Clash]:
    wanted = cluster.environments.containers
    missing = [runtime for runtime in wanted if runtime not in cluster.platform.container_runtimes]
    if missing and not cluster.software.repositories:
        yield Clash(
            "container-no-package",
            f"{cluster.os} has no packages for {', '.join(missing)}, and no repository of the site's is named",
            "name the repository that has them under `software.repositories`",
            (("environments", "containers"), ("os",)),
        )
