"""ganesha.conf of a host that serves folders by nfs-ganesha."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.config.cluster import Cluster
from clusterwright.config.storage import Nfs

# ganesha-core-config(8): after a restart, clients reclaim locks for this long and all other requests wait. The default
# of 90 s would stall every training for a minute and a half; a lease must be shorter than it.
GRACE_S, LEASE_S = 20, 15

HEAD = """NFS_CORE_PARAM {{
  # NFSv4 only: one port, no rpcbind, no lock and quota daemons.
  Protocols = 4;
  Enable_NLM = false;
  Enable_RQUOTA = false;
  Enable_UDP = false;
}}

NFSv4 {{
  Minor_Versions = 0, 1, 2;
  RecoveryBackend = fs;
  # Numeric IDs are equal on every host, so no daemon needs to map names.
  Only_Numeric_Owners = true;
  # Defaults are 90 s and 60 s: trainings stall for that long after a restart of the server.
  Grace_Period = {grace};
  Lease_Lifetime = {lease};
}}

NFS_KRB5 {{ Active_krb5 = false; }}

EXPORT_DEFAULTS {{
  Protocols = 4;
  Transports = TCP;
  SecType = sys;
  Access_Type = None;
  # Root of a client has no root rights here.
  Squash = root_squash;
  # A user's groups are looked up on this host: a request carries 16 at most (RFC 5531).
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
    """Return the text of ganesha.conf: one NFS export for each folder, open to all networks of the cluster."""
    clients = ", ".join(str(network.subnet) for network in cluster.networks.named().values())
    exports = [
        EXPORT.format(number=number, path=folder.export or folder.path, clients=clients)
        for number, folder in enumerate(served, 1)
    ]
    return HEAD.format(grace=GRACE_S, lease=LEASE_S) + "".join(exports)
