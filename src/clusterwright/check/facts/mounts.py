"""What is mounted."""

from __future__ import annotations

import json
from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: from where, of what kind, and whether it can be written."""

    source: str
    kind: str
    read_only: bool


@fact("findmnt", "--json", "--list", "-o", "TARGET,SOURCE,FSTYPE,OPTIONS")
def mounts(out: str) -> dict[str, Mount]:
    """By mount point, from the kernel's table; touches no file system, so a dead server cannot hang it."""
    return {
        row["target"]: Mount(row["source"] or "", row["fstype"], "ro" in row["options"].split(","))
        for row in json.loads(out)["filesystems"]
    }
