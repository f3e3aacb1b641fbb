"""GPU at a quarter of its clock, by the board's power brake, as with a failed power supply."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.gpus.gpu import chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("gpu",)
LASTS = True
refuse = chosen  # raises if there is no such GPU
_HW_SLOWDOWN, _HW_POWER_BRAKE = 0x08, 0x80  # nvmlClocksEventReason


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Set a simulated GPU's clocks low, with throttle reasons of a power brake; return the lab's state.

    Nothing else shows the fault.
    """
    rows = {"clock.sm": 345, "clock.graphics": 345, "clock.reasons": _HW_SLOWDOWN | _HW_POWER_BRAKE}
    chosen(lab, host, options).set_values("gpu-slow", lasting=rows)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Restore the simulated GPU's clocks; return the lab's state."""
    chosen(lab, host, options).clear_values("gpu-slow")
    return lab
