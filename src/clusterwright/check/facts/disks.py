"""Free space and free inodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact


@dataclass(frozen=True, slots=True)
class Space:
    """One file system: bytes and inodes, whole and free; no inodes are counted where it has no limit."""

    size_bytes: int
    free_bytes: int
    inodes: int
    free_inodes: int


def _paths(spec: HostSpec) -> Sequence[str]:
    return (
        *dict.fromkeys(("/", "/var", "/tmp", "/dev/shm", *(f.path for f in spec.cluster.storage.values()))),  # noqa: S108 (looked at, not written to)
    )


@fact("df", "-B1", "--output=size,avail,itotal,iavail,file", _paths, codes=(0, 1))
def disks(out: str) -> dict[str, Space]:
    """By path: the file system that it is on; a path that is not there is left out."""
    _heading, *rows = out.splitlines()
    spaces = {}
    for row in rows:
        *numbers, path = row.split()
        size, free, inodes, free_inodes = (0 if number == "-" else int(number) for number in numbers)
        spaces[path] = Space(size, free, inodes, free_inodes)
    if not spaces:
        raise ValueError("no file system")
    return spaces
