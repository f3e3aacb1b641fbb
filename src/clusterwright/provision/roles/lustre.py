"""The site's Lustre file systems, mounted, with LNet configured for the host's networks."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.config.storage import Lustre
from clusterwright.provision.alike import alike
from clusterwright.provision.render.lnet_conf import lnet_conf, lnet_network
from clusterwright.provision.render.mounts import Mounted, Option
from clusterwright.provision.resources import File, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("base",)

LNET = "/etc/lnet.conf"
MODULES = "/etc/modules-load.d/clusterwright-lustre.conf"


@alike
def lustre(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the Lustre client, LNet and mounts; nothing without Lustre storage.

    The packages come from the site's repository. A change of LNet costs a drain.
    """
    folders = [folder for folder in cluster.storage.values() if isinstance(folder, Lustre)]
    if not folders:
        return ()
    header = context.header()
    conf = File(path=LNET, content=header + lnet_conf(cluster), cost=Cost.DRAIN)
    modules = File(path=MODULES, content=f"{header}lnet\nlustre\n")
    lnet = Unit(name="lnet.service", restart_on=(conf.id,), independent=True)
    names = dict.fromkeys(name for folder in folders for name in folder.packages)
    mounts = [resource for folder in folders for resource in _mounted(cluster, folder).resources(header)]
    return (*(Package(name=name) for name in names), conf, modules, lnet, *mounts)


def lustre_source(cluster: Cluster, folder: Lustre) -> str:
    """Return the device argument of mount(8): every management server, then the file system name."""
    network = lnet_network(cluster)
    return ":".join(f"{server}@{network}" for server in folder.servers) + f":/{folder.filesystem}"


def _mounted(cluster: Cluster, folder: Lustre) -> Mounted:
    options = (
        Option("noatime", "reads do not write to the metadata server."),
        Option("_netdev", "mount after the network is up."),
        Option("flock", "locks are coherent between hosts; some writers of checkpoints and caches need it."),
    )
    return Mounted(
        source=lustre_source(cluster, folder),
        mount_path=folder.path,
        kind="lustre",
        options=options,
        required_units=("lnet.service",),
    )
