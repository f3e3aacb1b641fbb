"""The host's memory."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.units import KiB


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of usable memory (MemTotal), of swap, and reserved as huge pages."""

    total_bytes: int
    swap_bytes: int
    huge_bytes: int


@fact("cat", "/proc/meminfo")
def memory(out: str) -> Memory:
    """MemTotal (without memory of firmware and kernel image), SwapTotal, and the default huge pages."""
    values = dict(line.split(":", 1) for line in out.splitlines())
    total, swap = (int(values[name].split()[0]) * KiB for name in ("MemTotal", "SwapTotal"))
    pages, size = (int(values.get(name, "0").split()[0]) for name in ("HugePages_Total", "Hugepagesize"))
    return Memory(total, swap, pages * size * KiB)
