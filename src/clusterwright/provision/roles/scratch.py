"""File systems on local disks: one for each row of the node group's `disks`, created and mounted."""

from __future__ import annotations

from pathlib import PurePosixPath

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.nodes import Disk
from clusterwright.config.storage import Nfs, Quota
from clusterwright.provision.alike import alike
from clusterwright.provision.render.mounts import Mounted, Option
from clusterwright.provision.resources import Disks, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("base",)

_LABEL = {"xfs": 12, "ext4": 16}  # longest label in characters: mkfs.xfs(8), mkfs.ext4(8)
_PROGRAMS = {"xfs": "xfsprogs", "ext4": "e2fsprogs"}
_COUNTED = {"xfs": ("uquota", "gquota"), "ext4": ("usrquota", "grpquota")}  # xfs(5), ext4(5)


@alike
def scratch(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the file systems on local disks that the file has us manage; nothing without any.

    In a lab, `job_hooks` creates a folder instead.
    """
    ours = managed_disks(cluster, host)
    if not ours:
        return ()
    names = [_PROGRAMS[str(disk.filesystem)] for disk in ours]
    names += ["mdadm"] if any(disk.raid != "none" for disk in ours) else []
    disk_resources = [
        resource for disk in ours for resource in _disk_resources(cluster, host, disk, context.header())
    ]
    # A weekly trim (fstrim.timer): `discard` on each delete would stall jobs.
    trim = Unit(name="fstrim.timer", independent=True)
    return (*(Package(name=name) for name in dict.fromkeys(names)), *disk_resources, trim)


def managed_disks(cluster: Cluster, host: Host) -> list[Disk]:
    """Return the rows of `disks` that Clusterwright formats; none in a lab."""
    return [] if cluster.lab else [disk for disk in host.group.disks if disk.filesystem and disk.mount]


def label_of(disk: Disk) -> str:
    """Return the file system label, such as `cw-scratch`, which finds it whatever the kernel names the disks."""
    name = "cw" + (disk.mount or "").replace("/", "-")
    return name[: _LABEL[str(disk.filesystem)]].rstrip("-")


def quota_of(cluster: Cluster, host: Host, disk: Disk) -> Quota | None:
    """Return the quota of the disk, else that of an NFS folder that the host serves from it; None without."""
    served = (
        folder.quota
        for folder in cluster.storage.values()
        if isinstance(folder, Nfs) and folder.server == host.name and is_on(folder, disk) and folder.quota
    )
    return disk.quota or next(served, None)


def is_on(folder: Nfs, disk: Disk) -> bool:
    """Return whether the server's folder is on this disk."""
    path = PurePosixPath(folder.export or folder.path)
    return disk.mount is not None and path.is_relative_to(disk.mount)


def _disk_resources(cluster: Cluster, host: Host, disk: Disk, header: str) -> tuple[Resource, ...]:
    label, counted = label_of(disk), quota_of(cluster, host, disk) is not None
    disks = Disks(
        label=label,
        group=host.group_name,
        type=disk.kind,
        count=disk.count,
        size=disk.size,
        raid=str(disk.raid),
        filesystem=str(disk.filesystem),
        quota=counted,
    )
    mount = Mounted(
        source=f"/dev/disk/by-label/{label}",
        mount_path=str(disk.mount),
        kind=str(disk.filesystem),
        options=_options(disk, counted=counted),
        remote=False,
    )
    return (disks, *mount.resources(header))


def _options(disk: Disk, *, counted: bool) -> tuple[Option, ...]:
    return (
        Option("noatime", "reads write no access times."),
        Option("nodiscard", "free blocks are trimmed once a week (fstrim.timer), not on each delete."),
        # a failed disk must not block the boot: the host would be unreachable
        Option("nofail", "the host boots without it, and checks and prolog keep jobs away."),
        *(Option(option) for option in _COUNTED[str(disk.filesystem)] if counted),
    )
