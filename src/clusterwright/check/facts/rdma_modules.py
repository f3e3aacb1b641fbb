"""Kernel modules that let adapters reach the GPUs' memory."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

_PEERS = ("nvidia_peermem", "nv_peer_mem")


@dataclass(frozen=True, slots=True)
class RdmaModules:
    """The module that is loaded, if any; whether the driver's modules are the open ones."""

    peer: str
    open_driver: bool


@fact("sh", "-c", "cat /proc/modules; cat /proc/driver/nvidia/version 2>/dev/null; echo END")
def rdma_modules(out: str) -> RdmaModules:
    """Of the running kernel: nvidia_peermem or nv_peer_mem, and the kind of driver from its own file in /proc."""
    *lines, last = out.splitlines()
    if last != "END":
        raise ValueError(last)
    loaded = {line.split()[0] for line in lines if line.strip()}
    return RdmaModules(
        next((name for name in _PEERS if name in loaded), ""), "Open Kernel Module" in " ".join(lines)
    )
