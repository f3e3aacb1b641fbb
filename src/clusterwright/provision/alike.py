"""A role that gives every host of a compute group the same is asked once for the group, not for each of 4,096."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.resources import Resource, RoleContext

Role = Callable[[Cluster, Host, RoleContext], tuple[Resource, ...]]


def alike(role: Role) -> Role:
    """The role, whose answer for the first host of a compute group is that for the others.

    For roles that ask neither for the host's name nor for its addresses. Other groups are small, and their first
    host has duties of its own.
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
    """What roles have answered for the cluster's groups."""
    return {}
