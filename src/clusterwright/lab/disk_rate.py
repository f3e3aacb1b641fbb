"""Limit the read and write rate of a host's disk, by control groups.

Every host has a loop device of its own, so the limit is on the device: with cgroup v1 for every group of the host
and for the root group, to which v1 attributes write-back of cached data; with v2 for the host's group only.
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
    """Return the control group's files for disk limits that exist; empty if the kernel has none."""
    places = (*(group / name for name in V1), group / V2)
    return tuple(path for path in places if path.exists())


def able(lab: str, host: str) -> bool:
    """Return True if this kernel has a control group file by which the rate of the host's disk can be limited."""
    return any(files(group) for group in cgroups.groups(lab, host))


def limit_rate(lab: str, host: str, disk: Path, bytes_per_s: int) -> None:
    """Limit reads and writes of the disk mounted at `disk` to that rate, each by itself; nothing if not mounted."""
    device = device_of(disk)
    for path in _places(lab, host) if device else ():
        path.write_text(line(path.name, device, bytes_per_s))


def release(lab: str, host: str, disk: Path) -> None:
    """Remove the rate limit of the disk mounted at `disk`; does nothing if it is not mounted or not limited."""
    device = device_of(disk)
    for path in _places(lab, host) if device else ():
        if any(row.startswith(f"{device} ") for row in path.read_text().splitlines()):
            path.write_text(line(path.name, device, 0))


def line(name: str, device: str, bytes_per_s: int) -> str:
    """Return the line to write to the limit file `name` for a device; a rate of 0 is no limit."""
    if name == V2:
        rate = bytes_per_s or "max"
        return f"{device} rbps={rate} wbps={rate}"
    return f"{device} {bytes_per_s}"


def device_of(disk: Path) -> str:
    """Return the loop device mounted at `disk`, as `7:3`; empty if there is none."""
    if not disk.exists():
        return ""
    number = disk.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}" if os.major(number) == LOOP_MAJOR else ""


def _places(lab: str, host: str) -> Iterator[Path]:
    for group in cgroups.groups(lab, host):
        if (group / V1[0]).exists():
            yield from files(group.parents[2])  # the root of the tree: TREE/clusterwright/LAB/HOST
            for child in (group, *group.rglob("*/")):
                yield from files(child)
        elif (group / V2).exists():
            yield group / V2
