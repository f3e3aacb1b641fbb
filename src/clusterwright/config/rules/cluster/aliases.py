"""Every name in /etc/hosts means one host."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._members import members

# Names that every host gives itself (Debian's and Rocky's /etc/hosts).
_OWN = {"localhost", "ip6-localhost", "ip6-loopback", "ip6-allnodes", "ip6-allrouters", "broadcasthost"}


def aliases(cluster: Cluster) -> Iterator[Clash]:
    """No host is called as another is on its compute or storage network, nor as every host calls itself."""
    groups = members(cluster)
    for host, group in groups.items():
        for network in cluster.nodes[group].addresses:
            other = groups.get(f"{host}-{network}")
            if network != "management" and other is not None:
                yield Clash(
                    "name-taken",
                    f"`{host}-{network}` is a host of `{other}`, and the name of `{host}` on the "
                    f"{network} network",
                    f"rename the host `{host}-{network}`",
                    (("nodes", other, "hosts"), ("nodes", group, "addresses", network)),
                )
        if host in _OWN:
            yield Clash(
                "reserved-name",
                f"`{host}` is what every host calls itself",
                "choose another name",
                (("nodes", group, "hosts"),),
            )
