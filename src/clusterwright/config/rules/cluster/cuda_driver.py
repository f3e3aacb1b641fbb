"""A CUDA toolkit runs on a driver of its time."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash


def cuda_driver(cluster: Cluster) -> Iterator[Clash]:
    """The driver is of the oldest branch for that CUDA, or newer."""
    driver, cuda = cluster.software.driver, cluster.software.cuda
    if driver is None or cuda is None:
        return
    from clusterwright.catalog.software import major, oldest_driver

    oldest = oldest_driver(cuda)
    if oldest and major(driver) < major(oldest):
        yield Clash(
            "driver-too-old",
            f"CUDA {cuda} asks a driver of {major(oldest)} or later, and the hosts are to have {driver}",
            f"take a driver of {major(oldest)} or later, or an older CUDA",
            (("software", "driver"), ("software", "cuda")),
        )
