"""The properties of a host's GPUs, from the cluster file and the catalog."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright import catalog
from clusterwright.catalog import software
from clusterwright.catalog.records import Gpu
from clusterwright.config.cluster import Cluster
from clusterwright.config.nodes import Gpus
from clusterwright.errors import WrightError
from clusterwright.plan.machines import gpu_like

POWER_W = 300  # of a model that the catalog lacks: a PCIe card's
MEMORY_BYTES = 80 * 2**30  # of a model that the catalog lacks
PCIE_GEN = 4  # of a model that the catalog lacks


@dataclass(frozen=True, slots=True)
class Simulated:
    """The GPUs of one host; all are alike. `link_mbps` is the rate of one NVLink in megabytes per second."""

    seed: str
    count: int
    name: str
    arch: str
    capability: str
    memory_bytes: int
    power_w: int
    pcie_gen: int
    nvlinks: int
    link_mbps: int
    sockets: tuple[int, ...]
    driver: str
    cuda: str

    def address(self, index: int) -> str:
        """Return the PCI address of GPU `index`, as in nvidia-smi; 16 buses a domain, as in machines of 8 GPUs."""
        return f"{index // 16:08X}:{0x07 + 0x10 * (index % 16):02X}:00.0"

    def kernel_address(self, index: int) -> str:
        """Return the PCI address of GPU `index` as the kernel writes it, as 0000:07:00.0."""
        return self.address(index)[4:].lower()

    def uuid(self, index: int) -> str:
        """Return a UUID of GPU `index` that no real GPU has: its first group is all zeros."""
        digits = f"{self.seed}{index:04x}"[-24:]
        return f"GPU-00000000-{digits[:4]}-{digits[4:8]}-{digits[8:12]}-{digits[12:]}"


def simulated(cluster: Cluster, gpus: Gpus | None, seed: str) -> Simulated | None:
    """Return the simulated GPUs of a host with these `gpus`; None without GPUs, or for another vendor's."""
    if gpus is None:
        return None
    gpu_model = _catalog_gpu(gpus)
    if gpu_model and gpu_model.vendor != "NVIDIA":
        return None
    release = software.newest_for(gpu_model.arch) if gpu_model else None
    generation = software.generations().get(gpu_model.arch) if gpu_model else None
    links = _nvlinks(gpu_model) if gpu_model and gpus.nvlink else 0
    return Simulated(
        seed=seed,
        count=gpus.count,
        name=f"Simulated NVIDIA {gpu_model.name.upper()}" if gpu_model else f"Simulated {gpus.model}",
        arch=gpu_model.arch if gpu_model else "",
        capability=generation.sm if generation else "",
        memory_bytes=int(gpus.memory or (gpu_model.usable_bytes if gpu_model else MEMORY_BYTES)),
        power_w=int(gpu_model.power_w if gpu_model and gpu_model.power_w else POWER_W),
        pcie_gen=gpu_model.pcie_gen if gpu_model and gpu_model.pcie_gen else PCIE_GEN,
        nvlinks=links,
        link_mbps=int(gpu_model.link_bytes_per_s / 1e6 / links) if gpu_model and links else 0,
        sockets=gpus.sockets,
        driver=_three_parts(cluster.software.driver or (release.driver if release else "580.65")),
        cuda=cluster.software.cuda or (release.cuda if release else ""),
    )


def _catalog_gpu(gpus: Gpus) -> Gpu | None:
    try:
        return gpu_like(gpus, catalog.gpus().values())
    except WrightError:
        return None


# NVLinks of one GPU: datasheets of V100, A100, H100, B200; no other GPU's NVLinks join a whole host
_LINKS = {"Volta": 6, "Ampere": 12, "Hopper": 18, "Blackwell": 18}


def _nvlinks(gpu: Gpu) -> int:
    return _LINKS.get(gpu.arch, 0) if gpu.link_bytes_per_s else 0


def _three_parts(version: str) -> str:
    """Return a version padded to three numbers, as drivers have: 580.65 becomes 580.65.00."""
    return ".".join([*version.split("."), "00", "00"][: max(3, version.count(".") + 1)])
