"""slurmdbd.conf, on the host of slurmdbd."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.provision.render.firewall_table import ACCOUNTING_PORT
from clusterwright.provision.render.mariadb_conf import DATABASE, USER
from clusterwright.units import DAY_S

LOG = "/var/log/slurm/slurmdbd.log"


def slurmdbd_conf(cluster: Cluster, header: str) -> str:
    """Return slurmdbd.conf, without a password, because MariaDB authenticates by the socket's account.

    Raises:
        AssertionError: the cluster has no accounting.
    """
    host = cluster.accountant
    if host is None:
        raise AssertionError("accounting is off")
    retention = f"{-(-cluster.accounting.retention // DAY_S)}days"
    return f"""{header}
# Host and account.
DbdHost={host.name}
DbdAddr={host.management}
DbdPort={ACCOUNTING_PORT}
SlurmUser=slurm
AuthType=auth/munge
LogFile={LOG}
PidFile=/run/slurmdbd.pid

# The database on the same host. MariaDB authenticates the account slurm by its socket, so there is no password.
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={USER}
StorageLoc={DATABASE}

# Retention of single jobs, steps and events. Sums by hour, day and month are small and kept forever.
PurgeJobAfter={retention}
PurgeStepAfter={retention}
PurgeSuspendAfter={retention}
PurgeEventAfter={retention}
PurgeResvAfter={retention}
PurgeTXNAfter={retention}
"""
