"""GPUDirect RDMA methods (how network adapters access GPU memory), best first; `gpudirect.csv` has the sources."""

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
    """One method by which RDMA adapters access GPU memory: its module, and the drivers and kernels that support it."""

    name: str
    driver_min: str
    driver_before: str
    drivers: str
    kernel: str
    module: str
    package: str
    source: str

    def supports_driver(self, driver: str) -> bool:
        """Return whether this NVIDIA driver version supports the method."""
        least, upper = int(self.driver_min or 0), int(self.driver_before or 10**6)
        return least <= major(driver) < upper

    def offered(self, platform: Platform, rdma_driver: str) -> bool:
        """Return whether the platform's kernel and the RDMA drivers support the method."""
        return self.kernel in ("", *platform.kernel_features) and rdma_driver in self.drivers.split()


@cache
def gpudirect() -> tuple[GpuDirect, ...]:
    """Return all GPUDirect RDMA methods, best first."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(GpuDirect(**row) for row in csv.DictReader(file))
