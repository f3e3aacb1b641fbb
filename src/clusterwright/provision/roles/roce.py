"""RoCE v2 settings of each adapter at every boot: priority, PFC and ECN as in `rdma.roce`."""

from __future__ import annotations

from pathlib import PurePosixPath

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.alike import alike
from clusterwright.provision.oneshot import oneshot
from clusterwright.provision.render.rdma import FOLDER, rdma_networks
from clusterwright.provision.render.roce_script import roce_script
from clusterwright.provision.resources import File, Resource, RoleContext, Unit
from clusterwright.provision.roles.rdma_core import PORTS

DEPENDENCIES = ("rdma_core",)

SCRIPT = f"{FOLDER}/roce.sh"
NAME = "clusterwright-roce.service"
UNIT = oneshot(
    "RoCE is marked and kept whole",
    SCRIPT,
    After="clusterwright-rdma.service network-online.target",
    Wants="network-online.target",
    Before="slurmd.service",
)


@alike
def roce(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the RoCE settings for hosts with a RoCE network; nothing without `rdma`.

    A change interrupts traffic, so it needs a drain.
    """
    networks = cluster.networks.named()
    names = [name for name in rdma_networks(cluster, host) if networks[name].kind == "roce"]
    if cluster.rdma is None or not names:
        return ()
    text = roce_script(cluster.rdma.roce, names, context.header(), PurePosixPath(PORTS))
    script = File(path=SCRIPT, content=text, cost=Cost.DRAIN, validate=("sh", "-n", "{}"))
    unit = File(path=f"/etc/systemd/system/{NAME}", content=context.header() + UNIT)
    return (script, unit, Unit(name=NAME, restart_on=(script.id, unit.id, f"file:{PORTS}"), reload=True))
