"""One module for each role: a function from cluster and host to desired resources, without side effects.

Dropping a file in is the whole registration. A role's function has its module's name; `DEPENDENCIES` names the roles
whose resources come before its own.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from graphlib import TopologicalSorter

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.resources import Resource, RoleContext

Role = Callable[[Cluster, Host, RoleContext], tuple[Resource, ...]]


@cache
def roles() -> dict[str, Role]:
    """Return every role by name: each after its `DEPENDENCIES`, otherwise in the order of names."""
    modules = {
        m.name: importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    }
    sorter = TopologicalSorter({name: modules[name].DEPENDENCIES for name in modules})
    sorter.prepare()
    ordered: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += ready
        sorter.done(*ready)
    return {name: getattr(modules[name], name) for name in ordered}


def desired_resources(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return all resources of a host; one that several roles declare is included once."""
    resources_by_id: dict[str, Resource] = {}
    for name, role in roles().items():
        for resource in role(cluster, host, context):
            existing = resources_by_id.setdefault(resource.id, resource)
            if existing is not resource and existing != resource:
                raise AssertionError(f"{name} contradicts another role: {resource.id}")
    return tuple(resources_by_id.values())
