"""The site's BeeGFS file systems, mounted by the BeeGFS client service."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.config.storage import Beegfs
from clusterwright.provision.alike import alike
from clusterwright.provision.render.beegfs_conf import beegfs_client_conf, beegfs_mounts
from clusterwright.provision.resources import File, MountPoint, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("base",)

NETWORKS = "/etc/beegfs/clusterwright-networks.conf"
MOUNTS = "/etc/beegfs/beegfs-mounts.conf"
SERVICE = "beegfs-client.service"


@alike
def beegfs(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the BeeGFS client, whose service builds the kernel module and mounts all folders of beegfs-mounts.conf.

    Nothing without BeeGFS storage. A change of its files costs a drain.
    """
    folders = {name: folder for name, folder in cluster.storage.items() if isinstance(folder, Beegfs)}
    if not folders:
        return ()
    header = context.header()
    confs = [
        File(path=conf_path(name), content=header + beegfs_client_conf(cluster, folder), cost=Cost.DRAIN)
        for name, folder in folders.items()
    ]
    places = {folder.path: conf_path(name) for name, folder in folders.items()}
    storage = cluster.networks.storage or cluster.networks.management
    confs.append(File(path=NETWORKS, content=f"{header}{storage.subnet}\n", cost=Cost.DRAIN))
    mounts = File(path=MOUNTS, content=header + beegfs_mounts(places), cost=Cost.DRAIN)
    points = [
        MountPoint(path=folder.path, source="beegfs_nodev", type="beegfs", unit=MOUNTS)
        for folder in folders.values()
    ]
    names = dict.fromkeys(name for folder in folders.values() for name in folder.packages)
    unit = Unit(name=SERVICE, restart_on=(mounts.id, *(conf.id for conf in confs)), independent=True)
    return (*(Package(name=name) for name in names), *points, *confs, mounts, unit)


def conf_path(name: str) -> str:
    """Return the path of a file system's client configuration."""
    return f"/etc/beegfs/clusterwright-{name}.conf"
