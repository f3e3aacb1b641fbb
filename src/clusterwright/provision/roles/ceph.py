"""The site's CephFS file systems, mounted by the kernel client."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.storage import Ceph
from clusterwright.provision.alike import alike
from clusterwright.provision.packages import packages
from clusterwright.provision.render.mounts import Mounted, Option
from clusterwright.provision.resources import File, Resource, RoleContext

DEPENDENCIES = ("base",)

CONF = "/etc/ceph/ceph.conf"
NAME, SECRET = "clusterwright", "/etc/ceph/clusterwright.secret"


@alike
def ceph(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the CephFS client and mounts; nothing without Ceph storage.

    The site installs the key of client.clusterwright itself.
    """
    folders = [folder for folder in cluster.storage.values() if isinstance(folder, Ceph)]
    if not folders:
        return ()
    header = context.header()
    monitors = ",".join(dict.fromkeys(name for folder in folders for name in folder.monitors))
    conf = File(path=CONF, content=f"{header}[global]\nmon_host = {monitors}\n")
    mounts = [resource for folder in folders for resource in _mounted(folder).resources(header)]
    return (*packages(cluster, "ceph-common"), conf, *mounts)


def ceph_source(folder: Ceph) -> str:
    """Return the device argument of mount(8): the monitors and the root of the file system."""
    return f"{','.join(folder.monitors)}:/"


def _mounted(folder: Ceph) -> Mounted:
    options = (
        Option(f"name={NAME}", f"created by `ceph fs authorize {folder.filesystem} client.{NAME} / rw`."),
        Option(f"secretfile={SECRET}", "the key only, readable by root; the site installs it."),
        Option(f"fs={folder.filesystem}"),
        Option("noatime", "reads do not write to the metadata servers."),
        Option(
            "recover_session=clean",
            "an evicted host reconnects by itself; unwritten data is lost.",
        ),
        Option("_netdev", "mount after the network is up."),
    )
    return Mounted(source=ceph_source(folder), mount_path=folder.path, kind="ceph", options=options)
