"""Free space and free inodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact


@dataclass(frozen=True, slots=True)
class Space:
    """One file system: total and free bytes and inodes; 0 inodes where it has no inode limit."""

    size_bytes: int
    free_bytes: int
    inodes: int
    free_inodes: int


def _paths(spec: HostSpec) -> Sequence[str]:
    return (
        *dict.fromkeys(("/", "/var", "/tmp", "/dev/shm", *(f.path for f in spec.cluster.storage.values()))),  # nosec B108 # noqa: S108 (read only)
    )


@fact("df", "-B1", "--output=size,avail,itotal,iavail,file", _paths, codes=(0, 1))
def disks(out: str) -> dict[str, Space]:
    """Space of the file system by path; missing paths are left out."""
    _heading, *rows = out.splitlines()
    spaces = {}
    for row in rows:
        *numbers, path = row.split()
        size, free, inodes, free_inodes = (0 if number == "-" else int(number) for number in numbers)
        spaces[path] = Space(size, free, inodes, free_inodes)
    if not spaces:
        raise ValueError("no file system")
    return spaces
