"""The steps of an export in one order for all hosts: by role, and in each role by its own order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.export.fold import places
from clusterwright.provision.resources import File, Resource, RoleContext
from clusterwright.provision.roles import roles
from clusterwright.provision.roles.training import LIBRARY

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ExportStep:
    """One resource, with the hosts that are to have it; of a file that differs, the text is each host's own."""

    role: str
    resource: Resource
    hosts: tuple[str, ...]


def steps(cluster: Cluster, context: RoleContext) -> tuple[ExportStep, ...]:
    """Every resource of every host, once each; the library that only `wright train` uses is no step."""
    entries: dict[str, tuple[str, Resource, list[str]]] = {}
    hosts = cluster.hosts()
    for name, role in roles().items():
        for host in hosts:
            for resource in role(cluster, host, context):
                having = entries.setdefault(resource.id, (name, resource, []))[2]
                if host.name not in having[-1:]:  # hosts come in one order, so a repeated one is the last
                    having.append(host.name)
    rows = (ExportStep(role, resource, tuple(names)) for role, resource, names in entries.values())
    return tuple(step for step in rows if not is_library(step.resource))


def is_library(resource: Resource) -> bool:
    """True for a file of the library that jobs import: many small ones, kept together as one archive."""
    return isinstance(resource, File) and resource.path.startswith(f"{LIBRARY}/")


def of_kind(all_steps: Sequence[ExportStep], kind: type[R]) -> list[tuple[ExportStep, R]]:
    """The steps of that kind of resource, with it."""
    return [(step, step.resource) for step in all_steps if isinstance(step.resource, kind)]


def widest(cluster: Cluster, names: Sequence[str]) -> tuple[str, ...]:
    """The fewest places that hold exactly these hosts: `all`, `roles/compute`, `groups/a100`, `hosts/control1`."""
    target_hosts, members = frozenset(names), _members(cluster)
    chosen = (
        next(scope for scope in places(host) if members[scope] <= target_hosts)
        for host in cluster.hosts()
        if host.name in target_hosts
    )
    return tuple(dict.fromkeys(chosen))


@cache_per_instance
def _members(cluster: Cluster) -> dict[str, frozenset[str]]:
    """Every place with its hosts."""
    hosts_by_scope: dict[str, set[str]] = {}
    for host in cluster.hosts():
        for scope in places(host):
            hosts_by_scope.setdefault(scope, set()).add(host.name)
    return {scope: frozenset(names) for scope, names in hosts_by_scope.items()}
