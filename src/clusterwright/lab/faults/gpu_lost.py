"""GPU fallen off the bus: the driver cannot reach it, XID 79; a reboot or undo brings it back."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.gpus.gpu import chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("gpu",)
LASTS = True
refuse = chosen  # raises if there is no such GPU


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Make every call on the GPU return "GPU is lost", and log XID 79; the driver still counts the GPU."""
    gpu = chosen(lab, host, options)
    gpu.set_values("gpu-lost", lost=1)
    gpu.xid(79, "GPU has fallen off the bus.")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Make the simulated driver reach the GPU again; return the lab's state."""
    chosen(lab, host, options).clear_values("gpu-lost")
    return lab
