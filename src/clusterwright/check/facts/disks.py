"""Free space and free inodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import Want, fact


@dataclass(frozen=True, slots=True)
class Space:
    """One file system: bytes and inodes, whole and free; no inodes are counted where it has no limit."""

    size_bytes: int
    free_bytes: int
    inodes: int
    free_inodes: int


def _paths(want: Want) -> Sequence[str]:
    return (
        *dict.fromkeys(("/", "/var", "/tmp", "/dev/shm", *(f.path for f in want.cluster.storage.values()))),  # noqa: S108 (looked at, not written to)
    )


@fact("df", "-B1", "--output=size,avail,itotal,iavail,file", _paths, codes=(0, 1))
def disks(out: str) -> dict[str, Space]:
    """By path: the file system that it is on; a path that is not there is left out."""
    _heading, *rows = out.splitlines()
    found = {}
    for row in rows:
        *numbers, path = row.split()
        size, free, inodes, free_inodes = (0 if word == "-" else int(word) for word in numbers)
        found[path] = Space(size, free, inodes, free_inodes)
    if not found:
        raise ValueError("no file system")
    return found
