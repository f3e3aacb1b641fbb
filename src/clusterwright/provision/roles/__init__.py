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
from types import ModuleType

from clusterwright import plugins
from clusterwright.config.cluster import MANAGED_ROLES, Cluster, Host
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.provision.resources import Resource, RoleContext

Role = Callable[[Cluster, Host, RoleContext], tuple[Resource, ...]]


@cache
def roles() -> dict[str, Role]:
    """Return every role by name, also of plug-ins: each after its `DEPENDENCIES`, otherwise in the order of names.

    Raises:
        WrightError: `plugin-broken`, `plugin-clash`.
    """
    modules, plugin_modules = _modules(), _plugin_modules()
    modules |= {name: module for name, (_plugin, module) in plugin_modules.items()}
    for plugin, module in plugin_modules.values():
        if unknown := set(module.DEPENDENCIES) - set(modules):
            raise plugin.error(_("no role has the name `{name}`", name=min(unknown)))
    sorter = TopologicalSorter({name: modules[name].DEPENDENCIES for name in modules})
    sorter.prepare()
    ordered: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += ready
        sorter.done(*ready)
    return {name: getattr(modules[name], name) for name in ordered}


def managed_roles(cluster: Cluster) -> dict[str, Role]:
    """Return the roles that the cluster file has managed (`manage`), in the order of `roles`.

    Raises:
        WrightError: `unknown-role`: `manage` names a role that does not exist.
    """
    all_roles, names = roles(), cluster.manage or ()
    if unknown := [name for name in names if name not in all_roles and name not in MANAGED_ROLES]:
        choices = ", ".join(sorted((*MANAGED_ROLES, *all_roles)))
        raise WrightError.from_code(
            "unknown-role",
            _("`manage` names the role `{name}`, which does not exist", name=unknown[0]),
            _("use one of {choices}", choices=choices),
            exit_code=EXIT_USAGE,
        )
    return {name: role for name, role in all_roles.items() if cluster.manages(name)}


def _modules() -> dict[str, ModuleType]:
    return {m.name: importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)}


@cache
def _plugin_modules() -> dict[str, tuple[plugins.Plugin, ModuleType]]:
    return plugins.modules("roles", _modules(), _lacks)


def _lacks(name: str, module: ModuleType) -> str:
    if not callable(getattr(module, name, None)):
        return _("the module has no function `{name}`", name=name)
    dependencies = getattr(module, "DEPENDENCIES", None)
    if not isinstance(dependencies, tuple) or not all(isinstance(role, str) for role in dependencies):
        return _("DEPENDENCIES is not a tuple of names of roles")
    return ""


def desired_resources(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return all resources of a host; one that several roles declare is included once.

    Raises:
        WrightError: `plugin-clash`: a plug-in's role declares a resource of another role differently.
    """
    return tuple(resource for resource, _role in declared_resources(cluster, host, context).values())


def declared_resources(cluster: Cluster, host: Host, context: RoleContext) -> dict[str, tuple[Resource, str]]:
    """Return all resources of a host by id, each with the name of the first managed role that declares it.

    Raises:
        WrightError: `plugin-clash`: a plug-in's role declares a resource of another role differently.
    """
    declared: dict[str, tuple[Resource, str]] = {}
    cluster = cluster.on(host)
    for name, role in managed_roles(cluster).items():
        for resource in role(cluster, host, context):
            existing, _role = declared.setdefault(resource.id, (resource, name))
            if existing is not resource and existing != resource:
                if name in _plugin_modules():
                    reason = _("{role} contradicts another role: {resource}", role=name, resource=resource.id)
                    raise _plugin_modules()[name][0].error(reason, code="plugin-clash")
                raise AssertionError(f"{name} contradicts another role: {resource.id}")
    return declared
