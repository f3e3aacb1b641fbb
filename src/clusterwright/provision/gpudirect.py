"""The ways by which adapters reach the memory of GPUs, best first; `gpudirect.csv` has them with their sources."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clusterwright.catalog.software import major
from clusterwright.platforms import Platform

_TABLE = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True, slots=True)
class GpuDirect:
    """One way: for which NVIDIA drivers, with whose RDMA drivers, on which kernels; the module that it loads."""

    name: str
    driver_min: str
    driver_before: str
    drivers: str
    kernel: str
    module: str
    package: str
    source: str

    def supports_driver(self, driver: str) -> bool:
        """True for an NVIDIA driver that offers it."""
        least, upper = int(self.driver_min or 0), int(self.driver_before or 10**6)
        return least <= major(driver) < upper

    def offered(self, platform: Platform, rdma_driver: str) -> bool:
        """True where kernel and RDMA drivers have what it needs."""
        return self.kernel in ("", *platform.kernel_features) and rdma_driver in self.drivers.split()


@cache
def gpudirect() -> tuple[GpuDirect, ...]:
    """All of them."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(GpuDirect(**row) for row in csv.DictReader(file))
