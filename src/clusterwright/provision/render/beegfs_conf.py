"""beegfs-client.conf and beegfs-mounts.conf."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.cluster import Cluster
from clusterwright.config.storage import Beegfs

AUTHENTICATION = "/etc/beegfs/conn.auth"


def beegfs_client_conf(cluster: Cluster, folder: Beegfs) -> str:
    """Return beegfs-client.conf: only settings that differ from the client's defaults; RDMA if the network has it."""
    storage = cluster.networks.storage or cluster.networks.management
    rdma = storage.kind in {"infiniband", "roce"}
    authentication = (
        f"# A secret that all servers share; the site puts it there, readable by root alone.\n"
        f"connAuthFile = {AUTHENTICATION}\n"
        if folder.authentication
        else "connDisableAuthentication = true\n"
    )
    return f"""sysMgmtdHost = {folder.manager}
{authentication}# Only servers' addresses of this network are used: the others are for gradients and for people.
connNetFilterFile = /etc/beegfs/clusterwright-networks.conf
# {"RDMA, as the network is of that kind." if rdma else "The network has no RDMA."}
connUseRDMA = {"true" if rdma else "false"}
# The page cache of the kernel, for data sets that many workers of a host read repeatedly.
tuneFileCacheType = native
"""


def beegfs_mounts(places: Mapping[str, str]) -> str:
    """Return the text of beegfs-mounts.conf: a line for each mount path with its client configuration file."""
    return "".join(f"{path} {conf}\n" for path, conf in places.items())
