"""The steps of an export in one order for all hosts: by role, and in each role by its own order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.export.fold import places
from clusterwright.provision.resources import File, Resource, RoleContext
from clusterwright.provision.roles import managed_roles
from clusterwright.provision.roles.training import LIBRARY

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ExportStep:
    """A resource of an export and all hosts that have it; a file's text may differ from host to host."""

    role: str
    resource: Resource
    hosts: tuple[str, ...]


def steps(cluster: Cluster, context: RoleContext) -> tuple[ExportStep, ...]:
    """Return every resource of every host once, without the library, which only `wright train` uses."""
    entries: dict[str, tuple[str, Resource, list[str]]] = {}
    hosts = cluster.hosts()
    for name, role in managed_roles(cluster).items():
        for host in hosts:
            for resource in role(cluster.on(host), host, context):
                having = entries.setdefault(resource.id, (name, resource, []))[2]
                if host.name not in having[-1:]:  # hosts come in one order, so a repeated one is the last
                    having.append(host.name)
    rows = (ExportStep(role, resource, tuple(names)) for role, resource, names in entries.values())
    return tuple(step for step in rows if not is_library(step.resource))


def is_library(resource: Resource) -> bool:
    """Return whether the file belongs to the library that jobs import, which is exported as one archive."""
    return isinstance(resource, File) and resource.path.startswith(f"{LIBRARY}/")


def of_kind(all_steps: Sequence[ExportStep], kind: type[R]) -> list[tuple[ExportStep, R]]:
    """Return the steps with a resource of that kind."""
    return [(step, step.resource) for step in all_steps if isinstance(step.resource, kind)]


def widest(cluster: Cluster, names: Sequence[str]) -> tuple[str, ...]:
    """Return the largest places that together contain exactly these hosts: `all`, `roles/compute`, `hosts/c1`."""
    target_hosts, members = frozenset(names), _members(cluster)
    chosen = (
        next(scope for scope in places(host) if members[scope] <= target_hosts)
        for host in cluster.hosts()
        if host.name in target_hosts
    )
    return tuple(dict.fromkeys(chosen))


@cache_per_instance
def _members(cluster: Cluster) -> dict[str, frozenset[str]]:
    """Return the names of the hosts that belong to each place."""
    hosts_by_scope: dict[str, set[str]] = {}
    for host in cluster.hosts():
        for scope in places(host):
            hosts_by_scope.setdefault(scope, set()).add(host.name)
    return {scope: frozenset(names) for scope, names in hosts_by_scope.items()}
