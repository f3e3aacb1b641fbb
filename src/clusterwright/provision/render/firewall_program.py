"""Selects the program that manages the firewall rules."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.cluster import Cluster


def firewall_program(cluster: Cluster) -> Literal["nftables", "firewalld", "none"]:
    """Return the firewall program of the file, by default the distribution's own.

    `none` if `security.firewall` is off.
    """
    if not cluster.security.firewall:
        return "none"
    named = cluster.security.firewall_program
    return cluster.platform.firewall if named == "auto" else named
