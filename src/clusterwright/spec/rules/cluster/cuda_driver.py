"""A CUDA toolkit runs on a driver of its time."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.rules._clash import Clash

# CUDA's release notes, "minor version compatibility": the oldest branch of the driver for each CUDA.
_OLDEST = {11: 450, 12: 525, 13: 580}


def cuda_driver(cluster: Cluster) -> Iterator[Clash]:
    """The driver is of the oldest branch for that CUDA, or newer."""
    driver, cuda = cluster.software.driver, cluster.software.cuda
    if driver is None or cuda is None:
        return
    oldest = _OLDEST.get(_major(cuda), 0)
    if _major(driver) < oldest:
        yield Clash(
            "driver-too-old",
            f"CUDA {cuda} asks a driver of {oldest} or later, and the hosts are to have {driver}",
            f"take a driver of {oldest} or later, or an older CUDA",
            (("software", "driver"), ("software", "cuda")),
        )


def _major(version: str) -> int:
    first = version.partition(".")[0].partition("-")[0]
    return int(first)
