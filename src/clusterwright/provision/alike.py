"""Compute the resources of a role once for a compute group, not for each of its 4,096 hosts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.resources import Resource, RoleContext

Role = Callable[[Cluster, Host, RoleContext], tuple[Resource, ...]]


def alike(role: Role) -> Role:
    """Return a role whose resources for the first host of a compute group are reused for the group's other hosts.

    Only for roles that depend neither on the host's name nor on its addresses. Control and login groups are small,
    and their first host runs services that the others do not, so the role is called for each of their hosts.
    """

    @wraps(role)
    def answer(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
        if host.group.role != "compute":
            return role(cluster, host, context)
        answers, key = _answers(cluster), (role.__module__, host.group_name)
        entry = answers.get(key)
        if entry is None or entry[0] is not context:
            entry = answers[key] = (context, role(cluster, host, context))
        return entry[1]

    return answer


@cache_per_instance
def _answers(_cluster: Cluster) -> dict[tuple[str, str], tuple[RoleContext, tuple[Resource, ...]]]:
    """Return an empty cache, one for each cluster, of resources by role module and node group.

    With the resources it stores the context that they were computed for.
    """
    return {}
