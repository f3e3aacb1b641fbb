"""The host's memory."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.units import KiB


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that the kernel has for use, and bytes of swap."""

    total_bytes: int
    swap_bytes: int


@fact("cat", "/proc/meminfo")
def memory(out: str) -> Memory:
    """MemTotal (what the firmware and the kernel's own image left over) and SwapTotal."""
    values = dict(line.split(":", 1) for line in out.splitlines())
    total, swap = (int(values[name].split()[0]) * KiB for name in ("MemTotal", "SwapTotal"))
    return Memory(total, swap)
