"""Folders that a host of the cluster serves over NFS, by the kernel or by nfs-ganesha."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.config.storage import Nfs
from clusterwright.provision.packages import packages
from clusterwright.provision.render.ganesha_conf import ganesha_conf
from clusterwright.provision.render.mounts import Mounted, Option
from clusterwright.provision.resources import Directory, File, Resource, RoleContext, Unit

DEPENDENCIES = ("base", "scratch")

EXPORTS = "/etc/exports.d/clusterwright.exports"
GANESHA = "/etc/ganesha/ganesha.conf"
# The packaged unit requires rpcbind and a lock manager, which NFSv4 does not need, and sets no restart.
GANESHA_UNIT = "/etc/systemd/system/nfs-ganesha.service.d/clusterwright.conf"
DROP_IN = """[Unit]
Wants=
RequiresMountsFor={folders}

[Service]
# The server restarts before its waiting clients notice.
Restart=always
RestartSec=1
LimitNOFILE=1048576
"""


def nfs_server(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the NFS server of this host, its folders and exports, if the file names it as a server, else nothing.

    Root is squashed: a compromised client does not own the files of all users.
    """
    served = [
        folder
        for folder in cluster.storage.values()
        if isinstance(folder, Nfs) and folder.server == host.name
    ]
    if not served:
        return ()
    folders = tuple(Directory(path=folder.export or folder.path) for folder in served)
    bind_mounts = tuple(resource for folder in served for resource in _bind_mount(folder, context.header()))
    # A host runs one NFS server, so the value of its first folder applies; a rule requires equal values.
    serve = _by_ganesha if served[0].program(in_lab=cluster.lab is not None) == "ganesha" else _by_kernel
    return (*folders, *serve(cluster, served, context.header()), *bind_mounts)


def _by_kernel(cluster: Cluster, served: list[Nfs], header: str) -> tuple[Resource, ...]:
    subnets = [network.subnet for network in cluster.networks.named().values()]
    clients = " ".join(f"{subnet}(rw,sync,no_subtree_check,root_squash)" for subnet in subnets)
    lines = "".join(f"{folder.export or folder.path} {clients}\n" for folder in served)
    exports = File(path=EXPORTS, content=header + lines, cost=Cost.LIVE)
    unit = Unit(name="nfs-server.service", restart_on=(exports.id,), reload=True)
    return (*packages(cluster, "nfs-kernel-server"), exports, unit)


def _by_ganesha(cluster: Cluster, served: list[Nfs], header: str) -> tuple[Resource, ...]:
    """Return nfs-ganesha. A restart takes seconds, in which clients with hard mounts wait."""
    conf = File(path=GANESHA, content=header + ganesha_conf(cluster, served), cost=Cost.RESTART)
    folders = " ".join(folder.export or folder.path for folder in served)
    drop_in = File(path=GANESHA_UNIT, content=header + DROP_IN.format(folders=folders), cost=Cost.RESTART)
    unit = Unit(name="nfs-ganesha.service", restart_on=(conf.id, drop_in.id))
    return (*packages(cluster, "nfs-ganesha", "nfs-ganesha-vfs"), conf, drop_in, unit)


def _bind_mount(folder: Nfs, header: str) -> tuple[Resource, ...]:
    """Return a bind mount, so that the server has the folder at the same path as its clients.

    An empty tuple if the server has the folder at that path already.
    """
    if folder.export in (None, folder.path):
        return ()
    mount = Mounted(
        source=str(folder.export),
        mount_path=folder.path,
        kind="none",
        options=(Option("bind"),),
        remote=False,
    )
    return mount.resources(header)
