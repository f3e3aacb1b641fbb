"""The packages that an apply of a cluster file installs."""

from __future__ import annotations

from collections.abc import Iterable

from clusterwright.config.cluster import Cluster
from clusterwright.edge.bundler import library
from clusterwright.provision.resources import File, Package, Resource, RoleContext
from clusterwright.provision.roles import desired_resources
from clusterwright.provision.roles.munge import KEY

PREFERENCES = "/etc/apt/preferences.d/"


def required_packages(hosts: Iterable[Iterable[Resource]]) -> tuple[tuple[Package, ...], ...]:
    """Return the distinct package lists of hosts, each sorted by name; `hosts` has the resources of each host.

    Packages that configure a repository (`early`) are left out: hosts that install from a bundle do not need them.
    """
    lists: dict[tuple[Package, ...], None] = {}
    for resources in hosts:
        packages = [
            resource for resource in resources if isinstance(resource, Package) and not resource.early
        ]
        lists.setdefault(tuple(sorted(packages, key=lambda package: package.name)))
    return tuple(lists)


def version_pins(hosts: Iterable[Iterable[Resource]]) -> dict[str, str]:
    """Return the apt preferences that hosts get, by file name: they choose the versions of dependencies."""
    return {
        resource.path.removeprefix(PREFERENCES): str(resource.content)
        for resources in hosts
        for resource in resources
        if isinstance(resource, File) and resource.path.startswith(PREFERENCES)
    }


def host_resources(cluster: Cluster, context: RoleContext) -> list[tuple[Resource, ...]]:
    """Return the desired resources of each host of the cluster, in the order of its hosts."""
    return [desired_resources(cluster, host, context) for host in cluster.hosts()]


def context_without_secrets() -> RoleContext:
    """Return what roles need, with an empty munge key: package lists do not depend on secrets."""
    return RoleContext({KEY: b""}, library())
