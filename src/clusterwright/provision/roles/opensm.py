"""The subnet manager of an InfiniBand network whose switches run none."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.rdma_packages import rdma_packages
from clusterwright.provision.resources import File, Given, Resource, Unit

AFTER = ("rdma_core",)

PATH = "/etc/opensm/opensm.conf"
TEXT = """# What is not said here is opensm's own default (`opensm -c FILE` writes all of it).

# The highest priority is master; of two with the same, the lower GUID is, whichever that may be.
sm_priority {priority}

# A master that comes back takes over again only from a lower priority.
ignore_other_sm FALSE
"""


def opensm(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """On the hosts that the file names. A lab's ports carry nothing, so none is started there."""
    rdma = cluster.rdma
    found = [one for one in (rdma.subnet_managers if rdma else ()) if one.host == host.name]
    if not found:
        return ()
    path = cluster.platform.path(PATH)
    text = given.header() + TEXT.format(priority=found[0].priority)
    file = File(path=path, content=text, cost=Cost.RESTART)
    unit = () if cluster.lab else (Unit(name="opensm.service", restart_on=(file.id,), alone=True),)
    return (*rdma_packages(cluster, "opensm"), file, *unit)
