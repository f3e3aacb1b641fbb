"""Which program holds the rules of the firewall."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.provision.distribution import distribution


def firewall_program(cluster: Cluster) -> Literal["nftables", "firewalld", "none"]:
    """What the file says; by default what the distribution's own administrators use."""
    if not cluster.security.firewall:
        return "none"
    if cluster.security.firewall_program != "auto":
        return cluster.security.firewall_program
    return "firewalld" if distribution(cluster).family == "rhel" else "nftables"
