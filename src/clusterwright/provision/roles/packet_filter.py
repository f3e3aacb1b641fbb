"""The firewall by nftables: traffic that the cluster does not need is dropped."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.render.firewall import firewall
from clusterwright.provision.render.firewall_program import firewall_program
from clusterwright.provision.resources import File, Package, Resource, RoleContext, Unit
from clusterwright.provision.sandbox import sandbox

DEPENDENCIES = ("base", "slurm", "shared_folders")

RULES = "/etc/clusterwright/firewall.nft"
NAME = "clusterwright-firewall.service"  # the same for nftables and firewalld, so that one replaces the other
_THREATS = "Reached by: nobody. Reads: the rules, which root alone can write. Changes: nftables."
_SANDBOX = sandbox(
    _THREATS,
    CapabilityBoundingSet="CAP_NET_ADMIN",
    RestrictAddressFamilies="AF_UNIX AF_NETLINK",
    PrivateTmp="",  # needs /var/tmp, which may be mounted later
)
UNIT = f"""[Unit]
Description=Firewall of the cluster (clusterwright)
DefaultDependencies=no
After=local-fs.target nftables.service
Before=network-pre.target shutdown.target
Wants=network-pre.target
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f {RULES}
ExecReload=/usr/sbin/nft -f {RULES}
ExecStop=/usr/sbin/nft delete table inet clusterwright
{_SANDBOX}

[Install]
WantedBy=multi-user.target
"""


def packet_filter(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the firewall's nftables rules and the unit that loads them; nothing with another firewall program.

    Our own table leaves the site's nftables.conf and tables unchanged. If firewalld runs, it is stopped after our
    rules are loaded: otherwise traffic must pass both rule sets.
    """
    if firewall_program(cluster) != "nftables":
        return ()
    rules = File(
        path=RULES, content=firewall(cluster, host, context.header()), validate=("nft", "-c", "-f", "{}")
    )
    unit = File(path=f"/etc/systemd/system/{NAME}", content=context.header() + UNIT)
    runs = Unit(name=NAME, restart_on=(rules.id, unit.id), reload=True, replaces=("firewalld.service",))
    return (Package(name="nftables"), rules, unit, runs)
