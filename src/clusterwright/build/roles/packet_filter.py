"""The firewall: what is not the cluster's own is dropped."""

from __future__ import annotations

from clusterwright.build.render.firewall import firewall
from clusterwright.build.resources import File, Given, Package, Resource, Unit
from clusterwright.spec.cluster import Cluster, Host

AFTER = ("base", "slurm", "shared_folders")

RULES = "/etc/clusterwright/firewall.nft"
UNIT = """[Unit]
Description=Firewall of the cluster (clusterwright)
DefaultDependencies=no
After=local-fs.target nftables.service
Before=network-pre.target shutdown.target
Wants=network-pre.target
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f {rules}
ExecReload=/usr/sbin/nft -f {rules}
ExecStop=/usr/sbin/nft delete table inet clusterwright

[Install]
WantedBy=sysinit.target
"""


def packet_filter(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """A unit of our own, so that the site's nftables.conf and its other tables stay as they are."""
    if not cluster.security.firewall:
        return ()
    rules = File(
        path=RULES, content=firewall(cluster, host, given.header()), validate=("nft", "-c", "-f", "{}")
    )
    name = "clusterwright-firewall.service"
    unit = File(path=f"/etc/systemd/system/{name}", content=given.header() + UNIT.format(rules=RULES))
    return (Package(name="nftables"), rules, unit, Unit(name=name, restart_on=(rules.id,), reload=True))
