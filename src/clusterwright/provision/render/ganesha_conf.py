"""ganesha.conf of a host that serves folders by nfs-ganesha."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.config.cluster import Cluster
from clusterwright.config.storage import Nfs

# ganesha-core-config(8): clients reclaim what they held for as long as this after a restart, and all others wait for
# them. The default of 90 s would be a minute and a half of silence in every training; a lease is shorter than it.
GRACE_S, LEASE_S = 20, 15

HEAD = """NFS_CORE_PARAM {{
  # NFSv4 alone: one port, no rpcbind, no daemons for locks and quotas.
  Protocols = 4;
  Enable_NLM = false;
  Enable_RQUOTA = false;
  Enable_UDP = false;
}}

NFSv4 {{
  Minor_Versions = 0, 1, 2;
  RecoveryBackend = fs;
  # Ids are the same on every host: numbers travel, and no daemon has to know names.
  Only_Numeric_Owners = true;
  # Shorter than the 90 s and 60 s that it has: a training stands still for so long after a restart of the server.
  Grace_Period = {grace};
  Lease_Lifetime = {lease};
}}

NFS_KRB5 {{ Active_krb5 = false; }}

EXPORT_DEFAULTS {{
  Protocols = 4;
  Transports = TCP;
  SecType = sys;
  Access_Type = None;
  # Root of another host is nobody here.
  Squash = root_squash;
  # A user's groups are those of this host: a request carries 16 at most (RFC 5531).
  Manage_Gids = true;
}}
"""
EXPORT = """
EXPORT {{
  Export_Id = {number};
  Path = {path};
  Pseudo = {path};
  FSAL {{ Name = VFS; }}
  CLIENT {{ Clients = {clients}; Access_Type = RW; }}
}}
"""


def ganesha_conf(cluster: Cluster, served: Sequence[Nfs]) -> str:
    """Return ganesha.conf: one export for each folder, at the server's path, for the cluster's networks."""
    clients = ", ".join(str(network.subnet) for network in cluster.networks.named().values())
    exports = [
        EXPORT.format(number=number, path=folder.export or folder.path, clients=clients)
        for number, folder in enumerate(served, 1)
    ]
    return HEAD.format(grace=GRACE_S, lease=LEASE_S) + "".join(exports)
