"""A command as root, whoever the file says logs in."""

from __future__ import annotations

import shlex

from clusterwright.spec.cluster import Cluster


def as_root(cluster: Cluster, command: str) -> str:
    """The shell line: as it is where root logs in, as in every lab, and by sudo, which never asks, elsewhere."""
    if cluster.lab is not None or cluster.ssh.user == "root":
        return command
    return f"sudo -n sh -c {shlex.quote(command)}"
