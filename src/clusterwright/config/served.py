"""Choose the NFS server program of a shared folder that a host of the cluster serves."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.config.storage import Nfs


def program(cluster: Cluster, folder: Nfs) -> Literal["kernel", "ganesha"]:
    """Return the NFS server program of a folder.

    `auto` is the kernel, in a lab ganesha: the lab machine's kernel may have no NFS server.
    """
    if folder.server_program == "auto":
        return "ganesha" if cluster.lab else "kernel"
    return folder.server_program
