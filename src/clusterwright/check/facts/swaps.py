"""Where the host swaps to, and what would switch it on at the next boot."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class Swaps:
    """Devices or files in use, and what fstab(5) names."""

    active: tuple[str, ...]
    fstab: tuple[str, ...]


@fact("sh", "-c", 'cat /proc/swaps; awk \'$1 !~ /^#/ && $3 == "swap" {print "fstab", $1}\' /etc/fstab')
def swaps(out: str) -> Swaps:
    """The first word of each row of /proc/swaps, and of each line of fstab whose type is swap."""
    heading, *rows = out.splitlines()
    if not heading.startswith("Filename"):
        raise ValueError(heading)
    entries = [row.split() for row in rows if row.strip()]
    listed = tuple(entry[1] for entry in entries if entry[0] == "fstab")
    return Swaps(tuple(entry[0] for entry in entries if entry[0] != "fstab"), listed)
