"""One file per role: cluster and host in, wanted resources out. Pure.

Dropping a file in is the whole registration. A role's function has its module's name; `AFTER` names the roles
whose resources come before its own.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from graphlib import TopologicalSorter

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.resources import Given, Resource

Role = Callable[[Cluster, Host, Given], tuple[Resource, ...]]


@cache
def roles() -> dict[str, Role]:
    """Every role by name, in an order that keeps each `AFTER`, and by name beyond that."""
    modules = {
        m.name: importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    }
    sorter = TopologicalSorter({name: modules[name].AFTER for name in modules})
    sorter.prepare()
    ordered: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += ready
        sorter.done(*ready)
    return {name: getattr(modules[name], name) for name in ordered}


def wanted(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """All that the host must have; a package that two roles ask for is there once."""
    found: dict[str, Resource] = {}
    for name, role in roles().items():
        for resource in role(cluster, host, given):
            kept = found.setdefault(resource.id, resource)
            if kept is not resource and kept != resource:
                raise AssertionError(f"{name} contradicts another role: {resource.id}")
    return tuple(found.values())
