"""Isolation of users on compute hosts: nft rules by user id; prolog and epilog add and remove the hosts of jobs."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.render.isolation import RULES, is_isolated
from clusterwright.provision.render.isolation import isolation as rules
from clusterwright.provision.render.job_hooks import FOLDER
from clusterwright.provision.resources import File, Package, Resource, RoleContext, Unit
from clusterwright.provision.sandbox import sandbox

DEPENDENCIES = ("job_hooks", "packet_filter")

NAME = "clusterwright-isolation.service"
_THREATS = (
    "Reached by: nobody; a user's packets cause one question to slurmctld in 10 s. Reads: user ids of dropped packets, "
    "Slurm's hosts of their jobs. Changes: a table of nftables."
)
_SANDBOX = sandbox(
    _THREATS,
    CapabilityBoundingSet="CAP_NET_ADMIN",
    RestrictAddressFamilies="AF_UNIX AF_NETLINK AF_INET AF_INET6",
)
UNIT = f"""[Unit]
Description=Keeps users apart on this host (clusterwright)
After=nftables.service
Before=slurmd.service

[Service]
Type=forking
ExecStart={FOLDER}/isolate start
ExecReload={FOLDER}/isolate load
ExecStop=-/usr/sbin/nft delete table inet clusterwright_users
Restart=always
{_SANDBOX}

[Install]
WantedBy=multi-user.target
"""


@alike
def isolation(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return nft rules that keep users from connections to others' jobs, and the service that loads the rules.

    Only for compute hosts with job isolation, else nothing. The table is separate from the firewall's, whose reload
    does not change it; a reload of this service restores the entries of running jobs.
    """
    if not is_isolated(cluster) or host.group.role != "compute":
        return ()
    header = context.header()
    text = File(path=RULES, content=rules(cluster, header), validate=("nft", "-c", "-f", "{}"))
    unit = File(path=f"/etc/systemd/system/{NAME}", content=header + UNIT)
    return (
        Package(name="nftables"),
        text,
        unit,
        Unit(name=NAME, restart_on=(text.id, unit.id), reload=True),
    )
