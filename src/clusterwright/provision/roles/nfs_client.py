"""NFS folders, mounted on every host that does not serve them."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.memoize import cache_per_instance
from clusterwright.config.storage import Nfs
from clusterwright.provision.packages import packages
from clusterwright.provision.render.mounts import Mounted
from clusterwright.provision.render.nfs_options import NCONNECT_SINCE, nfs_options
from clusterwright.provision.resources import Resource, RoleContext

DEPENDENCIES = ("base", "accounts", "nfs_server")


def nfs_client(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the NFS client and a mount unit for each folder that other hosts serve.

    Mounts are independent; `shared_folders` retries those that fail.
    """
    resources: list[Resource] = []
    for folder in cluster.storage.values():
        if isinstance(folder, Nfs) and folder.server != host.name:
            options = nfs_options(cluster, folder)
            uses_nconnect = any(option.text.startswith("nconnect=") for option in options)
            new = uses_nconnect and not cluster.platform.backports_kernel_features
            mount = Mounted(
                source=nfs_source(cluster, folder),
                mount_path=folder.path,
                kind="nfs4",
                options=options,
                kernels={"nconnect": NCONNECT_SINCE} if new else {},
            )
            resources += [*packages(cluster, "nfs-common"), *mount.resources(context.header())]
    return tuple(resources)


def nfs_source(cluster: Cluster, folder: Nfs) -> str:
    """Return what mount(8) mounts for an NFS folder, `SERVER:PATH`.

    It is the server's name in the storage network if the server has an address there.
    """
    ours = folder.server in _on_storage_network(cluster)
    return f"{folder.server}{'-storage' if ours else ''}:{folder.export or folder.path}"


@cache_per_instance
def _on_storage_network(cluster: Cluster) -> frozenset[str]:
    """Return the hosts with an address on the storage network."""
    return frozenset(host.name for host in cluster.hosts() if "storage" in host.addresses)
