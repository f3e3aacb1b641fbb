"""Pending row remapping of a GPU, XID 63: pending until a reboot, counted permanently."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.gpus.gpu import chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("gpu",)
LASTS = True
refuse = chosen  # raises if there is no such GPU


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Simulate one memory row of the GPU that will be remapped at the next reset; return the lab's state."""
    gpu = chosen(lab, host, options)
    gpu.set_values("gpu-remap", lasting={"remap.uncorrected": 1}, remap_pending=1)
    gpu.xid(63, "Row Remapper: New row marked for remapping, reset gpu to activate.")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Reset the simulated GPU's error counters, as with a replaced GPU; return the lab's state."""
    chosen(lab, host, options).clear_values("gpu-remap")
    return lab
