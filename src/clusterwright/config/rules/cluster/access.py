"""We can come in, and go on as root."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules.cluster.slurm import USED


def access(cluster: Cluster) -> Iterator[Clash]:
    """Who logs in may use sudo there, and sshd has a port of its own."""
    user = cluster.users.get(cluster.ssh.user)
    if user is not None and not user.admin:
        yield Clash(
            "access-not-admin",
            f"`{cluster.ssh.user}` is to log in and change the hosts, but may not use sudo there",
            f"set `admin: true` for `{cluster.ssh.user}`, or log in as another user",
            (("ssh", "user"), ("users", cluster.ssh.user, "admin")),
        )
    if service := USED.get(cluster.ssh.port):
        yield Clash(
            "port-range",
            f"sshd is to listen on {cluster.ssh.port}, where {service} listens",
            "take another port; 22 is usual",
            (("ssh", "port"),),
        )
