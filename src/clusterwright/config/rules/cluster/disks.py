"""Local disks that we make into a file system fit together."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.disks import Disk
from clusterwright.config.rules._clash import Clash

Loc = tuple[str | int, ...]

_PAIR, _FEWEST_OF_10 = 2, 4  # md(4): RAID 10 of fewer disks, or of an odd number, keeps its copies unevenly


def disks(cluster: Cluster) -> Iterator[Clash]:
    """Several disks become one by RAID, of a number that it can use; what is made has a place."""
    for name, group in cluster.nodes.items():
        for index, disk in enumerate(group.disks):
            at: Loc = ("nodes", name, "disks", index)
            yield from _incomplete(disk, at) or _raid(disk, at)


def _incomplete(disk: Disk, at: Loc) -> tuple[Clash, ...]:
    if disk.filesystem and disk.mount is None:
        message = f"{disk.filesystem} is to be made, and nothing says where it is mounted"
        return (Clash("disk-incomplete", message, "say where: `mount: /scratch`", ((*at, "filesystem"),)),)
    asked = "raid" if disk.raid != "none" else "quota" if disk.quota else ""
    if asked and not disk.filesystem:
        message = f"{asked} is for a file system that we make, and this one is left to the site"
        mend = (
            f"say which we are to make (`filesystem: xfs`; only empty disks are taken), or take `{asked}` out"
        )
        return (Clash("disk-incomplete", message, mend, ((*at, asked),)),)
    return ()


def _raid(disk: Disk, at: Loc) -> Iterator[Clash]:
    mend = ""
    if disk.filesystem and disk.count > 1 and disk.raid == "none":
        message = f"{disk.count} disks are to be one file system, and nothing joins them"
        mend = "set raid to 0 for scratch that may be lost, or a row for each disk with a mount of its own"
    elif disk.raid == 0 and disk.count < _PAIR:
        message, mend = "RAID 0 of one disk is that disk", "take `raid` out"
    elif disk.raid == 10 and (disk.count < _FEWEST_OF_10 or disk.count % 2):
        message = f"RAID 10 keeps everything twice, on pairs of disks, and there are {disk.count}"
        even = disk.count // 2 * 2
        lower = f"set count to {even}, or " if even >= _FEWEST_OF_10 else ""
        mend = f"{lower}add a disk, or set raid to 0 for scratch that may be lost"
    if mend:
        yield Clash("disk-raid", message, mend, ((*at, "raid"), (*at, "count")))
