"""The firewall by firewalld: traffic that the cluster does not need is dropped."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.packages import packages
from clusterwright.provision.render.firewall_program import firewall_program
from clusterwright.provision.render.firewalld import firewalld as rules
from clusterwright.provision.resources import File, Resource, RoleContext, Unit
from clusterwright.provision.sandbox import sandbox

DEPENDENCIES = ("base", "slurm", "shared_folders")

NAME = "clusterwright-firewall.service"
_THREATS = (
    "Reached by: nobody. Reads: nothing that users write. Changes: reloads firewalld over D-Bus and deletes "
    "our nftables table."
)
_SANDBOX = sandbox(
    _THREATS,
    CapabilityBoundingSet="CAP_NET_ADMIN",
    RestrictAddressFamilies="AF_UNIX AF_NETLINK",
    MemoryDenyWriteExecute="",  # firewall-cmd calls D-Bus through libffi
)
UNIT = f"""[Unit]
Description=Firewall of the cluster (clusterwright), held by firewalld
Wants=firewalld.service
After=firewalld.service

[Service]
Type=oneshot
RemainAfterExit=yes
# firewalld may have started before our zones existed. After they are loaded, the nftables rules may be deleted.
ExecStart=/usr/bin/firewall-cmd --quiet --reload
ExecStart=-/usr/sbin/nft delete table inet clusterwright
# Connections survive: firewalld keeps their state.
ExecReload=/usr/bin/firewall-cmd --quiet --reload
ExecReload=-/usr/sbin/nft delete table inet clusterwright
{_SANDBOX}

[Install]
WantedBy=multi-user.target
"""


def firewalld(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return firewalld with our zones and default zone, where it is the firewall program, else nothing.

    The site's zones, policies and services stay unchanged.
    """
    if firewall_program(cluster) != "firewalld":
        return ()
    files = tuple(File(path=path, content=text) for path, text in rules(cluster, host).items())
    unit = File(path=f"/etc/systemd/system/{NAME}", content=context.header() + UNIT)
    inputs = tuple(file.id for file in (*files, unit))
    return (
        *packages(cluster, "firewalld"),
        *files,
        unit,
        Unit(name="firewalld.service"),
        Unit(name=NAME, restart_on=inputs, reload=True),
    )
