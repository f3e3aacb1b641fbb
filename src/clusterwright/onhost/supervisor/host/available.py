"""The memory that a job can still allocate on this host, by the machine's and the cgroup's limits.

Cached files count as available, as in the kernel's MemAvailable: a data set that is read fills a cgroup, and takes
nothing from what it can allocate.
"""

from __future__ import annotations

import os
from typing import List

from clusterwright.onhost.lib.sysfs import number, read

V1, V2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"


def available_bytes() -> int:
    """Return the bytes of memory that can still be allocated: the least that machine and cgroups have left.

    The cgroups are those of this process and above; unreadable limits are ignored.
    """
    return min([_machine(), *_groups()])


def _machine() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        rows = dict(line.split(":") for line in file)
    return int(rows["MemAvailable"].split()[0]) * 1024


def _groups(of_process: str = "/proc/self/cgroup") -> List[int]:
    """Return the bytes that this process's cgroup and each of those above it have left (cgroups(7))."""
    with open(of_process, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(":", 2) for line in file]
    free_bytes = []
    for _, controllers, path in rows:
        names = controllers.split(",")
        if "memory" in names:
            free_bytes += _above(V1, path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
        elif controllers == "":
            free_bytes += _above(V2, path, "memory.max", "memory.current", "")
    return free_bytes


def _above(root: str, path: str, limit: str, usage: str, rows: str) -> List[int]:
    free_bytes = []
    while True:
        folder = root + path.rstrip("/")
        most, used = number(os.path.join(folder, limit)), number(os.path.join(folder, usage))
        if most is not None and used is not None:
            free_bytes.append(most - used + min(used, _cached(folder, rows)))
        if path in ("", "/"):
            return free_bytes
        path = os.path.dirname(path)


def _cached(folder: str, rows: str) -> int:
    """Return the bytes of cached files in a cgroup by its memory.stat; `rows` is the prefix of the names there."""
    names = (f"{rows}inactive_file", f"{rows}active_file")
    lines = [line.split() for line in read(folder, "memory.stat").splitlines()]
    return sum(int(line[1]) for line in lines if len(line) == 2 and line[0] in names and line[1].isdigit())
