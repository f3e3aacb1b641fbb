"""A command as root, whoever the file says logs in."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster


def by_sudo(cluster: Cluster) -> bool:
    """True where the one who logs in is not root; in a lab it always is."""
    return cluster.lab is None and cluster.ssh.user != "root"


def as_root(cluster: Cluster, command: str) -> str:
    """The shell line: as it is where root logs in, as in every lab, and by sudo, which never asks, elsewhere."""
    return f"sudo -n sh -c {shlex.quote(command)}" if by_sudo(cluster) else command
