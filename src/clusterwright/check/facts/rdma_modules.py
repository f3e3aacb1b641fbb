"""Kernel modules for GPUDirect RDMA."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

_PEERS = ("nvidia_peermem", "nv_peer_mem")


@dataclass(frozen=True, slots=True)
class RdmaModules:
    """The loaded peer memory module (empty: none); whether the NVIDIA driver has open kernel modules."""

    peer: str
    open_driver: bool


@fact("sh", "-c", "cat /proc/modules; cat /proc/driver/nvidia/version 2>/dev/null; echo END")
def rdma_modules(out: str) -> RdmaModules:
    """The loaded peer memory module, and whether NVIDIA's open kernel modules run (/proc/driver/nvidia/version)."""
    *lines, last = out.splitlines()
    if last != "END":
        raise ValueError(last)
    loaded = {line.split()[0] for line in lines if line.strip()}
    return RdmaModules(
        next((name for name in _PEERS if name in loaded), ""), "Open Kernel Module" in " ".join(lines)
    )
