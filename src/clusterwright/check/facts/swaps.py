"""Active swap areas, and those that /etc/fstab activates at the next boot."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class Swaps:
    """Active swap devices or files, and the swap entries of /etc/fstab."""

    active: tuple[str, ...]
    fstab: tuple[str, ...]


@fact("sh", "-c", 'cat /proc/swaps; awk \'$1 !~ /^#/ && $3 == "swap" {print "fstab", $1}\' /etc/fstab')
def swaps(out: str) -> Swaps:
    """Swap areas in /proc/swaps, and swap entries in /etc/fstab."""
    heading, *rows = out.splitlines()
    if not heading.startswith("Filename"):
        raise ValueError(heading)
    entries = [row.split() for row in rows if row.strip()]
    listed = tuple(entry[1] for entry in entries if entry[0] == "fstab")
    return Swaps(tuple(entry[0] for entry in entries if entry[0] != "fstab"), listed)
