"""The account of Slurm's daemons, where no package creates it."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import Group, Resource, RoleContext, User

DEPENDENCIES = ("base",)

SLURM_ID = 64030  # Debian's static id for slurm (base-passwd); Slurm requires the same id on all hosts


@alike
def slurm_account(cluster: Cluster, _host: Host, _context: RoleContext) -> tuple[Resource, ...]:
    """Return the slurm account, if the Slurm packages do not create it: SchedMD's do not."""
    if cluster.platform.has_slurm(cluster.software.slurm):
        return ()
    group = Group(name="slurm", gid=SLURM_ID, system=True)
    return (group, User(name="slurm", uid=SLURM_ID, group="slurm", system=True))
