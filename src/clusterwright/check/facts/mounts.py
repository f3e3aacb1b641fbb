"""Mounted file systems."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: source, file system type, and whether it is read-only."""

    source: str
    kind: str
    read_only: bool


@fact("findmnt", "--json", "--list", "-o", "TARGET,SOURCE,FSTYPE,OPTIONS")
def mounts(out: str) -> dict[str, Mount]:
    """Mounts by mount point, from the kernel's table; a dead file server cannot block this read."""
    return {
        row["target"]: Mount(row["source"] or "", row["fstype"], "ro" in row["options"].split(","))
        for row in parse_document(out)["filesystems"]
    }
