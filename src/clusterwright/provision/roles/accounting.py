"""Accounting: MariaDB and slurmdbd on one control host."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.packages import packages, slurm_packages
from clusterwright.provision.render.mariadb_conf import SQL, database_sql, mariadb_conf
from clusterwright.provision.render.slurmdbd_conf import slurmdbd_conf
from clusterwright.provision.resources import File, Resource, RoleContext, Unit

DEPENDENCIES = ("munge", "slurm")
_MUNGE_KEY = "file:/etc/munge/munge.key"

_DROP_IN = """[Unit]
# slurmdbd retries after 5 s if the database does not respond.
After=mariadb.service

[Service]
# The unit counts as started once slurmdbd responds: slurmctld exits at once otherwise, and creating tables takes
# seconds.
ExecStartPost=-/usr/bin/timeout 60 /bin/sh -c 'until ss -Hltn "sport = :6819" | grep -q .; do sleep 0.2; done'

# Restart after a crash.
Restart=on-failure
RestartSec=2
"""


def accounting(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return MariaDB and slurmdbd for the accounting host; nothing for other hosts."""
    if cluster.accountant is None or host.name != cluster.accountant.name:
        return ()
    sql = File(path=SQL, content=database_sql(context.header()), cost=Cost.RESTART)
    settings = File(
        path=f"{cluster.platform.path('/etc/mysql/mariadb.conf.d')}/70-clusterwright.cnf",
        content=mariadb_conf(cluster, host, context.header()),
        cost=Cost.RESTART,
    )
    # slurmdbd exits with any other mode than 0600 or any other owner.
    conf = File(
        path="/etc/slurm/slurmdbd.conf",
        content=slurmdbd_conf(cluster, context.header()),
        owner="slurm",
        group="slurm",
        mode=0o600,
        cost=Cost.RESTART,
    )
    drop_in = File(
        path="/etc/systemd/system/slurmdbd.service.d/clusterwright.conf", content=context.header() + _DROP_IN
    )
    return (
        *packages(cluster, "mariadb-server"),
        *slurm_packages(cluster, "slurmdbd"),
        *(sql, settings, conf, drop_in),
        Unit(name="mariadb.service", restart_on=(sql.id, settings.id), independent=True),
        Unit(name="slurmdbd.service", restart_on=(conf.id, drop_in.id, _MUNGE_KEY), independent=True),
    )
