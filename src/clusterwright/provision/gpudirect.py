"""The ways by which adapters reach the memory of GPUs, best first; `gpudirect.csv` has them with their sources."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clusterwright.catalog.software import major

_TABLE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True, slots=True)
class GpuDirect:
    """One way: for which NVIDIA drivers, with whose RDMA drivers, on which systems; the module that it loads."""

    name: str
    driver_min: str
    driver_before: str
    drivers: str
    systems: str
    module: str
    package: str
    source: str

    def fits(self, driver: str) -> bool:
        """True for an NVIDIA driver that offers it."""
        least, before = int(self.driver_min or 0), int(self.driver_before or 10**6)
        return least <= major(driver) < before

    def offered(self, system: str, rdma_driver: str) -> bool:
        """True where kernel and RDMA drivers have what it needs; a system is named whole or by its first word."""
        systems = self.systems.split()
        here = "any" in systems or system in systems or system.partition("-")[0] in systems
        return here and rdma_driver in self.drivers.split()


@cache
def gpudirect() -> tuple[GpuDirect, ...]:
    """All of them."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(GpuDirect(**row) for row in csv.DictReader(file))
