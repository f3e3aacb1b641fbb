"""Quotas are set where the file system is ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.storage import Nfs


def quotas(cluster: Cluster) -> Iterator[Clash]:
    """A served folder with a quota lies on a disk that we make, on a host of the cluster, which has none itself."""
    for name, folder in cluster.storage.items():
        if not isinstance(folder, Nfs) or folder.quota is None:
            continue
        at = ("storage", name, "quota")
        group = next((key for key, one in cluster.nodes.items() if folder.server in one.names()), None)
        if group is None:
            message = f"`{name}` is served by {folder.server}, which is no host of this file"
            yield Clash(
                "quota-not-ours", message, "set quotas there, or take `quota` out", (at, (*at[:2], "server"))
            )
            continue
        place = PurePosixPath(folder.export or folder.path)
        disks = enumerate(cluster.nodes[group].disks)
        on = next(
            ((i, one) for i, one in disks if one.filesystem and place.is_relative_to(one.mount or "-")), None
        )
        if on is None:
            message = f"{place} of {folder.server} lies on no disk that we make, so nothing counts there"
            mend = (
                f"add a disk with `mount: /srv/disk` and a `filesystem` to nodes.{group}.disks and serve a folder of "
                f"it (`export: /srv/disk/{name}`), or take `quota` out"
            )
            yield Clash("quota-not-ours", message, mend, (at, ("nodes", group)))
        elif on[1].quota:
            message = f"`{name}` lies on a disk that has a quota of its own, and a file system has one"
            yield Clash(
                "quota-twice",
                message,
                "take one of them out",
                (at, ("nodes", group, "disks", on[0], "quota")),
            )
