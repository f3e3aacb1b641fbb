"""The systemd journal: persistent across reboots, with a limit of its size."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Resource, RoleContext, Unit
from clusterwright.units import MiB

DEPENDENCIES = ("base",)


@alike
def journal(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return a persistent journal; Rocky and Alma keep it in memory by default and lose it when a host fails.

    `reload`: before systemd 258 journald restarts, but keeps every open stream.
    """
    text = f"""{context.header()}[Journal]
Storage=persistent
SystemMaxUse={cluster.system.journal // MiB}M
"""
    file = File(path="/etc/systemd/journald.conf.d/50-clusterwright.conf", content=text)
    return (file, Unit(name="systemd-journald.service", restart_on=(file.id,), reload=True))
