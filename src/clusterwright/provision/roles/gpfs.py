"""The site's IBM Storage Scale (GPFS) file systems, mounted once the GPFS daemon runs."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.storage import Gpfs
from clusterwright.provision.alike import alike
from clusterwright.provision.render.mounts import Mounted, Option
from clusterwright.provision.resources import Package, Resource, RoleContext

DEPENDENCIES = ("base",)


@alike
def gpfs(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the GPFS client and mounts. The site adds the hosts to its GPFS cluster itself (mmaddnode)."""
    folders = [folder for folder in cluster.storage.values() if isinstance(folder, Gpfs)]
    names = dict.fromkeys(name for folder in folders for name in folder.packages)
    mounts = [resource for folder in folders for resource in _mounted(folder).resources(context.header())]
    return (*(Package(name=name) for name in names), *mounts)


def _mounted(folder: Gpfs) -> Mounted:
    options = (
        Option("noatime", "reads write no access times."),
        Option("_netdev", "mount after the network is up."),
    )
    return Mounted(
        source=folder.filesystem,
        mount_path=folder.path,
        kind="gpfs",
        options=options,
        required_units=("gpfs.service",),
    )
