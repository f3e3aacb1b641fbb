"""A role that gives every host of a compute group the same is asked once for the group, not for each of 4,096."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.once import once
from clusterwright.provision.resources import Given, Resource

Role = Callable[[Cluster, Host, Given], tuple[Resource, ...]]


def alike(role: Role) -> Role:
    """The role, whose answer for the first host of a compute group is that for the others.

    For roles that ask neither for the host's name nor for its addresses. Other groups are small, and their first
    host has duties of its own.
    """

    @wraps(role)
    def answer(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
        if host.group.role != "compute":
            return role(cluster, host, given)
        answers, place = _answers(cluster), (role.__module__, host.group_name)
        known = answers.get(place)
        if known is None or known[0] is not given:
            known = answers[place] = (given, role(cluster, host, given))
        return known[1]

    return answer


@once
def _answers(_cluster: Cluster) -> dict[tuple[str, str], tuple[Given, tuple[Resource, ...]]]:
    """What roles have answered for the cluster's groups."""
    return {}
