"""The host's own name, the names of all others, the time zone."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.hosts_file import hosts_file
from clusterwright.provision.resources import File, Package, Resource, RoleContext, Symlink, Sysctl

DEPENDENCIES: tuple[str, ...] = ("repositories",)


def base(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the host name, /etc/hosts and the time zone, which all other roles rely on."""
    return (
        File(path="/etc/hostname", content=f"{host.name}\n"),
        Sysctl(key="kernel.hostname", value=host.name),
        File(path="/etc/hosts", content=hosts_file(cluster, context.header())),
        Package(name="tzdata"),
        Symlink(path="/etc/localtime", target=f"/usr/share/zoneinfo/{cluster.time.zone}"),
    )
