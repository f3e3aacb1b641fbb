"""/etc/hosts: every host on every network, so that nothing waits for DNS and reverse names are right."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance


@cache_per_instance
def hosts_file(cluster: Cluster, header: str) -> str:
    """Return /etc/hosts: NAME is the management address; `NAME-compute` and `NAME-storage` are on the other networks.

    No host has 127.0.1.1, which Debian's installer writes: a rank that binds to its own name would be unreachable.
    torch uses reverse lookups too.
    """
    lines = [header, "127.0.0.1 localhost\n", "::1 localhost ip6-localhost ip6-loopback\n"]
    for host in cluster.hosts():
        for network, address in host.addresses.items():
            name = host.name if network == "management" else f"{host.name}-{network}"
            lines.append(f"{address} {name}\n")
    return "".join(lines)
