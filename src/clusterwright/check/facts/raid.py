"""Software RAID."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.check.fact import fact

_ARRAY = re.compile(r"^(md\S+) : (\S+) (.*)$")
_DISKS = re.compile(r"\[(\d+)/(\d+)\] \[[U_]+\]")
_WORK = re.compile(r"(resync|recovery|check|reshape)\s*=\s*([\d.]+%)")


@dataclass(frozen=True, slots=True)
class Array:
    """One md array: active or not, configured and working disks, failed disks, current operation."""

    name: str
    active: bool
    disks: int
    working: int
    failed: tuple[str, ...]
    doing: str


@fact("cat", "/proc/mdstat", codes=(0,))
def raid(out: str) -> tuple[Array, ...]:
    """Every array of the kernel's md driver; arrays of a hardware RAID controller are not included."""
    if not out.startswith("Personalities"):
        raise ValueError(out)
    blocks: list[list[str]] = []
    for line in out.splitlines():
        if _ARRAY.match(line):
            blocks.append([line])
        elif blocks and line.startswith(" "):
            blocks[-1].append(line)
    return tuple(_array(block) for block in blocks)


def _array(block: list[str]) -> Array:
    named = _ARRAY.match(block[0])
    if named is None:
        raise ValueError(block[0])
    text = "\n".join(block)
    counts, work = _DISKS.search(text), _WORK.search(text)
    failed = tuple(re.findall(r"(\w+)\[\d+\]\(F\)", named[3]))
    disks, working = (int(counts[1]), int(counts[2])) if counts else (0, 0)
    return Array(
        named[1], named[2] == "active", disks, working, failed, " ".join(work.groups()) if work else ""
    )
