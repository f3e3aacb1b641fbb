"""A server is named as every host finds it."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.storage import Beegfs, Ceph, Lustre, Nfs

Loc = tuple[str | int, ...]


def local_servers(cluster: Cluster) -> Iterator[Clash]:
    """No file or time server goes by the name that each host calls itself."""
    for server, at in _servers(cluster):
        if server.partition(".")[0] == "localhost" or server.startswith("127."):
            yield Clash(
                "server-is-localhost",
                f"`{server}` means another host on every host: each would ask itself",
                "name the host of this file, or the server of the site, as the other hosts reach it",
                (at,),
            )


def _servers(cluster: Cluster) -> Iterator[tuple[str, Loc]]:
    for name, folder in cluster.storage.items():
        if isinstance(folder, Nfs):
            yield folder.server, ("storage", name, "server")
        elif isinstance(folder, Beegfs):
            yield folder.manager, ("storage", name, "manager")
        elif isinstance(folder, Lustre | Ceph):
            field = "servers" if isinstance(folder, Lustre) else "monitors"
            for index, server in enumerate(getattr(folder, field)):
                yield server, ("storage", name, field, index)
    for index, server in enumerate(cluster.time.servers):
        yield server, ("time", "servers", index)
