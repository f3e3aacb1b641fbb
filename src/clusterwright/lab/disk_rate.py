"""How fast a host's disk may be: the kernel holds what reads and writes it to a rate.

Every host has a loop device of its own, so the limit is on the device: with cgroup v1 for every group of the host
and for the root group, in whose name v1 writes back what was only cached; with v2 for the host's group alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from clusterwright.lab import cgroups

LOOP_MAJOR = 7  # Linux, admin-guide/devices.txt
V1 = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
V2 = "io.max"


def files(group: Path) -> tuple[Path, ...]:
    """Where limits of the group's disks are written; none where the kernel has no such limits."""
    places = (*(group / name for name in V1), group / V2)
    return tuple(path for path in places if path.exists())


def able(lab: str, host: str) -> bool:
    """True where this kernel can hold a disk to a rate."""
    return any(files(group) for group in cgroups.groups(lab, host))


def limit_rate(lab: str, host: str, disk: Path, bytes_per_s: int) -> None:
    """Reads and writes of the disk that is mounted there go no faster, each by itself."""
    device = device_of(disk)
    for path in _places(lab, host) if device else ():
        path.write_text(line(path.name, device, bytes_per_s))


def release(lab: str, host: str, disk: Path) -> None:
    """The disk is as fast as it is; nothing to do where it is not mounted, or never was held."""
    device = device_of(disk)
    for path in _places(lab, host) if device else ():
        if any(row.startswith(f"{device} ") for row in path.read_text().splitlines()):
            path.write_text(line(path.name, device, 0))


def line(name: str, device: str, bytes_per_s: int) -> str:
    """What the file of that name is told; 0 is no limit."""
    if name == V2:
        rate = bytes_per_s or "max"
        return f"{device} rbps={rate} wbps={rate}"
    return f"{device} {bytes_per_s}"


def device_of(disk: Path) -> str:
    """The loop device that is mounted there, as `7:3`; nothing where none is."""
    if not disk.exists():
        return ""
    number = disk.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}" if os.major(number) == LOOP_MAJOR else ""


def _places(lab: str, host: str) -> Iterator[Path]:
    for group in cgroups.groups(lab, host):
        if (group / V1[0]).exists():
            yield from files(group.parents[2])  # the tree itself: TREE/clusterwright/LAB/HOST
            for child in (group, *group.rglob("*/")):
                yield from files(child)
        elif (group / V2).exists():
            yield group / V2
