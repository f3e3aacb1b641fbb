"""The host's memory."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.units import KiB


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that the kernel has for use, of swap, and kept as huge pages."""

    total_bytes: int
    swap_bytes: int
    huge_bytes: int


@fact("cat", "/proc/meminfo")
def memory(out: str) -> Memory:
    """MemTotal (what the firmware and the kernel's own image left over), SwapTotal, and the pages of 2 MiB."""
    values = dict(line.split(":", 1) for line in out.splitlines())
    total, swap = (int(values[name].split()[0]) * KiB for name in ("MemTotal", "SwapTotal"))
    pages, size = (int(values.get(name, "0").split()[0]) for name in ("HugePages_Total", "Hugepagesize"))
    return Memory(total, swap, pages * size * KiB)
