"""What of NVIDIA's software each group's GPUs take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash

if TYPE_CHECKING:
    from clusterwright.config.nodes import Gpus


def nvidia_gpus(cluster: Cluster) -> Iterator[Clash]:
    """Kernel modules that know the GPUs, and fabric manager where there are switches."""
    section = cluster.software.nvidia
    if section is None:
        return
    for name, group in cluster.nodes.items():
        if group.gpus:
            at = ("nodes", name, "gpus", "model")
            yield from _modules(section.kernel_modules, group.gpus, at)
            yield from _fabric(section.fabric_manager, group.gpus, at)


def _modules(kind: str, gpus: Gpus, at: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.nvswitch import CLOSED_ONLY, OPEN_ONLY, architecture

    arch = architecture(gpus.model)
    other = {"open": CLOSED_ONLY, "proprietary": OPEN_ONLY}.get(kind, frozenset())
    if arch in other:
        yield Clash(
            "kernel-modules-gpu",
            f"the {kind} kernel modules do not know {gpus.model} ({arch})",
            "leave software.nvidia.kernel_modules out: each group then gets those that its GPUs know",
            (("software", "nvidia", "kernel_modules"), at),
        )


def _fabric(said: str, gpus: Gpus, at: tuple[str, ...]) -> Iterator[Clash]:
    from clusterwright.catalog.nvswitch import has_nvswitch

    if said == "never" and has_nvswitch(gpus.model, gpus.count, nvlink=gpus.nvlink):
        yield Clash(
            "fabric-manager-off",
            f"{gpus.count} {gpus.model} with NVLink hang on NVSwitches, and without fabric manager CUDA says error 802",
            "set software.nvidia.fabric_manager to auto",
            (("software", "nvidia", "fabric_manager"), at),
        )
