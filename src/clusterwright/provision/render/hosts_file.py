"""/etc/hosts: every host on every network, so that nothing waits for DNS and reverse names are right."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance


@cache_per_instance
def hosts_file(cluster: Cluster, header: str) -> str:
    """The plain name is the management address; `NAME-compute` and `NAME-storage` are the others.

    No host is called 127.0.1.1, as Debian's installer has it: a rank that binds to its own name would then be
    out of reach for its peers. torch looks up the reverse names too.
    """
    lines = [header, "127.0.0.1 localhost\n", "::1 localhost ip6-localhost ip6-loopback\n"]
    for host in cluster.hosts():
        for network, address in host.addresses.items():
            name = host.name if network == "management" else f"{host.name}-{network}"
            lines.append(f"{address} {name}\n")
    return "".join(lines)
