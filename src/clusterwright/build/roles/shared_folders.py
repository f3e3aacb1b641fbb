"""The folders that every host sees, and the place for runs on the first of them."""

from __future__ import annotations

from clusterwright.build.distribution import distribution
from clusterwright.build.resources import Directory, File, Given, Package, Resource, Unit, mount
from clusterwright.spec.cluster import Cluster, Host
from clusterwright.spec.field import Cost
from clusterwright.spec.once import once
from clusterwright.spec.storage import Ceph, Gpfs, Local, Lustre, Nfs, Storage

AFTER = ("base",)

EXPORTS = "/etc/exports.d/clusterwright.exports"
PACKAGES = {
    "nfs": ("nfs-common",),
    "ceph": ("ceph-common",),
}  # Lustre's and GPFS's clients come from the site


def shared_folders(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """Exports on the hosts that serve, mounts on the others; `runs` is open to all, and kept as /tmp is."""
    resources: list[Resource] = []
    for folder in cluster.storage.values():
        if isinstance(folder, Nfs) and folder.server == host.name:
            resources += _served(cluster, folder, given.header())
        elif not isinstance(folder, Local):
            resources += _mounted(cluster, folder, given.header())
    if cluster.shared_folder and host.name == cluster.control.name:
        resources.append(Directory(path=f"{cluster.shared_folder}/runs", mode=0o1777, parents=False))
    return tuple(resources)


def _mounted(cluster: Cluster, folder: Nfs | Lustre | Ceph | Gpfs, header: str) -> tuple[Resource, ...]:
    system = distribution(cluster)
    packages = tuple(Package(name=system.package(name)) for name in PACKAGES.get(folder.kind, ()))
    file, unit = mount(
        what=source(cluster, folder),
        where=folder.path,
        kind="nfs4" if folder.kind == "nfs" else folder.kind,
        options=_options(folder),
        header=header,
    )
    return (*packages, file, unit)


def _served(cluster: Cluster, folder: Nfs, header: str) -> tuple[Resource, ...]:
    """Root of the others is nobody here: a host that is taken over does not own everyone's files."""
    export = folder.export or folder.path
    subnets = [network.subnet for network in cluster.networks.named().values()]
    clients = " ".join(f"{subnet}(rw,sync,no_subtree_check,root_squash)" for subnet in subnets)
    exports = File(path=EXPORTS, content=f"{header}{export} {clients}\n", cost=Cost.LIVE)
    own: tuple[Resource, ...] = ()
    if export != folder.path:
        own = mount(what=export, where=folder.path, kind="none", options=("bind",), header=header)
    unit = Unit(name="nfs-server.service", restart_on=(exports.id,), reload=True)
    package = Package(name=distribution(cluster).package("nfs-kernel-server"))
    return (package, Directory(path=export), exports, unit, *own)


def source(cluster: Cluster, folder: Storage) -> str:
    """What mount(8) is given; a server of ours is reached over the storage network where it is on it."""
    if isinstance(folder, Nfs):
        ours = folder.server in _on_storage_network(cluster)
        return f"{folder.server}{'-storage' if ours else ''}:{folder.export or folder.path}"
    if isinstance(folder, Lustre):
        storage = cluster.networks.storage or cluster.networks.management
        network = "o2ib" if storage.kind in {"infiniband", "roce"} else "tcp"
        return ":".join(f"{server}@{network}" for server in folder.servers) + f":/{folder.filesystem}"
    if isinstance(folder, Ceph):
        return f"{','.join(folder.monitors)}:/"
    if isinstance(folder, Gpfs):
        return folder.filesystem
    return folder.path


@once
def _on_storage_network(cluster: Cluster) -> frozenset[str]:
    """Hosts of ours with an address there."""
    return frozenset(host.name for host in cluster.hosts() if "storage" in host.addresses)


def _options(folder: Nfs | Lustre | Ceph | Gpfs) -> tuple[str, ...]:
    if isinstance(folder, Nfs):
        # hard: a training waits for a server that reboots, where soft would give it a torn file
        return ("vers=4.2", "hard", "noatime", *folder.options)
    if isinstance(folder, Ceph):
        # the site puts the key there; it is its own secret
        return (
            "name=clusterwright",
            "secretfile=/etc/ceph/clusterwright.secret",
            f"fs={folder.filesystem}",
            "noatime",
        )
    return ("noatime", "_netdev", *(("flock",) if isinstance(folder, Lustre) else ()))
