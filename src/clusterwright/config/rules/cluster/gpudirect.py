"""The way from adapters to GPUs that the file names is one that the driver has."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash

# NVIDIA's driver README, "GPUDirect RDMA Peer Memory Client": nvidia-peermem came with 470, and took nv_peer_mem's
# place. DMA-BUF needs the open kernel modules, which came with 515.
_SINCE = {"peermem": (470, "nvidia-peermem comes with the driver since 470"),
          "dma-buf": (515, "DMA-BUF needs the open kernel modules, which came with 515")}  # fmt: skip
_BEFORE = {"nv-peer-mem": (470, "nv_peer_mem is for drivers before 470; newer ones bring nvidia-peermem")}


def gpudirect(cluster: Cluster) -> Iterator[Clash]:
    """A driver is declared, and of a release that offers it."""
    way = cluster.rdma.gpudirect if cluster.rdma else "auto"
    if way in ("auto", "off"):
        return
    driver = cluster.software.driver
    if driver is None:
        yield Clash(
            "gpudirect-driver",
            f"GPUs are to be reached by {way}, and the file declares no driver for them",
            "declare software.driver, or set rdma.gpudirect to auto",
            (("rdma", "gpudirect"), ("software", "driver")),
        )
        return
    from clusterwright.catalog.software import major

    least, why = _SINCE.get(way, (0, ""))
    before, gone = _BEFORE.get(way, (10**6, ""))
    if not least <= major(driver) < before:
        yield Clash(
            "gpudirect-driver",
            f"GPUs are to be reached by {way}, and the driver is {driver}: {why or gone}",
            "set rdma.gpudirect to auto, which takes what the driver has",
            (("rdma", "gpudirect"), ("software", "driver")),
        )
