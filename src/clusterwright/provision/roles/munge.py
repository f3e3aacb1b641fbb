"""Munge, which authenticates Slurm's daemons and users to each other."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import Directory, File, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("base", "clock")
KEY = "munge.key"  # its name among the secrets


@alike
def munge(_cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return munge and its key, readable by munge only: munged rejects a key that others can read."""
    key = File(
        path="/etc/munge/munge.key",
        content=context.secrets[KEY],
        owner="munge",
        group="munge",
        mode=0o400,
        cost=Cost.DRAIN,  # jobs started under the old key cannot authenticate to daemons with the new one
        secret=KEY,
    )
    folder = Directory(path="/etc/munge", owner="munge", group="munge", mode=0o700)
    return (Package(name="munge"), folder, key, Unit(name="munge.service", restart_on=(key.id,)))
