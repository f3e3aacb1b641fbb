"""Teams, their limits and reservations in Slurm's accounting, changed on the host of slurmctld."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.accounts import Row, account_rows, qos_names
from clusterwright.provision.render.firewall_table import ACCOUNTING_PORT
from clusterwright.provision.render.reservations import reservation_rows
from clusterwright.provision.render.slurm_settings import CONTROL_PORT
from clusterwright.provision.resources import Records, Resource, RoleContext

DEPENDENCIES = ("slurm", "accounting")


def teams(cluster: Cluster, host: Host, _context: RoleContext) -> tuple[Resource, ...]:
    """Return the records of accounting: QOS names (slurmctld does not start without), then accounts, reservations.

    Only for the first control host, and only with accounting.
    """
    accountant = cluster.accountant
    if accountant is None or host.name != cluster.control.name:
        return ()
    options = cluster.slurm.options if cluster.slurm.is_of_site else {}
    server: Row = {
        "kind": "slurmdbd",
        "name": accountant.name,
        "cluster": cluster.slurm_name,
        "address": options.get("AccountingStorageHost", str(accountant.management)),
        "port": options.get("AccountingStoragePort", str(ACCOUNTING_PORT)),
        "controller": str(host.management),
        "controller_port": str(CONTROL_PORT),
    }
    return (
        Records(name="qos-names", rows=(server, *qos_names(cluster)), required_by=("slurmctld.service",)),
        Records(name="accounts", rows=(server, *account_rows(cluster))),
        Records(name="reservations", rows=reservation_rows(cluster)),
    )
