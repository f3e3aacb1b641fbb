"""Uncorrectable memory error of a GPU, XID 48; after a reboot only the aggregate counter shows it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.gpus.gpu import chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("gpu",)
LASTS = True
refuse = chosen  # raises if there is no such GPU


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Count one double-bit error of the GPU, and log XID 48; return the lab's state."""
    gpu = chosen(lab, host, options)
    gpu.set_values("gpu-ecc", lasting={"ecc.uncorrected.aggregate.dram": 1}, ecc_uncorrected_volatile_dram=1)
    gpu.xid(48, "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer.")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Reset the simulated GPU's error counters, as with a replaced GPU; return the lab's state."""
    chosen(lab, host, options).clear_values("gpu-ecc")
    return lab
