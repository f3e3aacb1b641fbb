"""Which program serves a folder of a host of the cluster."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.config.storage import Nfs


def program(cluster: Cluster, folder: Nfs) -> Literal["kernel", "ganesha"]:
    """`auto` is the kernel, but for a lab: its hosts have the kernel of its machine, which may serve nothing."""
    if folder.server_program == "auto":
        return "ganesha" if cluster.lab else "kernel"
    return folder.server_program
