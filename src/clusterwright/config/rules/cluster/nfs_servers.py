"""One program serves the folders of a host, and it is one that the host can have."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.config.served import program
from clusterwright.config.storage import Nfs


def nfs_servers(cluster: Cluster) -> Iterator[Clash]:
    """The kernel and nfs-ganesha want the same port; not every distribution has packages of the latter."""
    ours = {name for group in cluster.nodes.values() for name in group.names()}
    first: dict[str, tuple[str, str]] = {}
    for name, folder in cluster.storage.items():
        if not isinstance(folder, Nfs) or folder.server not in ours:
            continue
        at, said = ("storage", name, "server_program"), program(cluster, folder)
        other, before = first.setdefault(folder.server, (name, said))
        if before != said:
            message = (
                f"{folder.server} is to serve `{other}` by {before} and `{name}` by {said}; one has the port"
            )
            yield Clash("two-servers", message, f"set server_program to {before}", (at, ("storage", other)))
        if said == "ganesha" and not (cluster.platform.has_ganesha or cluster.software.repositories):
            message = f"{cluster.os} has no package of nfs-ganesha"
            mend = "name a repository that has it in software.repositories, or set server_program to kernel"
            yield Clash("ganesha-no-package", message, mend, (at, ("software",)))
