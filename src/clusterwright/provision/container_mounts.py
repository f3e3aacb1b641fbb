"""The folders of a host that every container mounts, with any container runtime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.config.cluster import Cluster

OURS = "/opt/clusterwright"  # agent, runtime and recipes of trainings


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of the host, mounted at the same path in every container."""

    path: str
    mode: Literal["ro", "rw"] = "rw"


def mounts(cluster: Cluster) -> tuple[Mount, ...]:
    """Return the mounts of every container: homes, shared folders, disks, local caches; read-only our library.

    They are those of the whole cluster; a host has only some of the paths.
    """
    disks = [disk.mount for group in cluster.nodes.values() for disk in group.disks if disk.mount]
    shared = [folder.path for folder in cluster.storage.values()]
    caches = cluster.environments.caches.local
    paths = dict.fromkeys(("/home", *shared, *disks, *([caches] if caches else [])))
    return (*(Mount(path) for path in paths), Mount(OURS, "ro"))
