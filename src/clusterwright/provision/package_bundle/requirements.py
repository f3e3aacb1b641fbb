"""The packages that an apply of a cluster file installs."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.edge.bundler import library
from clusterwright.provision.resources import File, Package, RoleContext
from clusterwright.provision.roles import desired_resources
from clusterwright.provision.roles.munge import KEY

PREFERENCES = "/etc/apt/preferences.d/"


def required_packages(cluster: Cluster, context: RoleContext) -> tuple[tuple[Package, ...], ...]:
    """Return the distinct package lists of the hosts, each sorted by name; hosts of one kind have the same list.

    Early packages configure a repository, so hosts that install from a bundle do not need them.
    """
    lists: dict[tuple[Package, ...], None] = {}
    for host in cluster.hosts():
        packages = [
            resource
            for resource in desired_resources(cluster, host, context)
            if isinstance(resource, Package) and not resource.early
        ]
        lists.setdefault(tuple(sorted(packages, key=lambda package: package.name)))
    return tuple(lists)


def version_pins(cluster: Cluster, context: RoleContext) -> dict[str, str]:
    """Return the apt preferences that hosts get, by file name: they choose the versions of dependencies."""
    return {
        resource.path.removeprefix(PREFERENCES): str(resource.content)
        for host in cluster.hosts()
        for resource in desired_resources(cluster, host, context)
        if isinstance(resource, File) and resource.path.startswith(PREFERENCES)
    }


def context_without_secrets() -> RoleContext:
    """Return what roles need, with an empty munge key: package lists do not depend on secrets."""
    return RoleContext({KEY: b""}, library())
