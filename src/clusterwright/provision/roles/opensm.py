"""The subnet manager (opensm) of an InfiniBand network whose switches run none."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.rdma_packages import rdma_packages
from clusterwright.provision.resources import File, Resource, RoleContext, Unit

DEPENDENCIES = ("rdma_core",)

PATH = "/etc/opensm/opensm.conf"
TEXT = """# Omitted settings have opensm's default (`opensm -c FILE` writes all of them).

# The highest priority becomes master; of equal ones, the lower GUID.
sm_priority {priority}

# A returning master takes over again only from a lower priority.
ignore_other_sm FALSE
"""


def opensm(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return opensm for the hosts that `rdma.subnet_managers` names, else nothing.

    A lab starts none, because its ports carry no traffic.
    """
    rdma = cluster.rdma
    managers = [manager for manager in (rdma.subnet_managers if rdma else ()) if manager.host == host.name]
    if not managers:
        return ()
    path = cluster.platform.path(PATH)
    text = context.header() + TEXT.format(priority=managers[0].priority)
    file = File(path=path, content=text, cost=Cost.RESTART)
    unit = () if cluster.lab else (Unit(name="opensm.service", restart_on=(file.id,), independent=True),)
    return (*rdma_packages(cluster, "opensm"), file, *unit)
