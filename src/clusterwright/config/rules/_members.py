"""Hosts and their groups, without addresses: those may be wrong when a rule looks."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.cluster import Cluster


def members(cluster: Cluster, role: Literal["control", "compute", "login"] | None = None) -> dict[str, str]:
    """Each host of that role, or every one, with the name of its group."""
    return {
        host: name
        for name, group in cluster.nodes.items()
        if role in (None, group.role)
        for host in group.names()
    }
