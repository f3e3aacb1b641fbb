"""Overheated GPU: 93 degrees Celsius, and clocks at a quarter because of it; a reboot does not cool it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.gpus.gpu import chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("gpu",)
LASTS = True
refuse = chosen  # raises if there is no such GPU
HW_SLOWDOWN, SW_THERMAL, HW_THERMAL = 0x08, 0x20, 0x40  # nvmlClocksEventReason
CELSIUS, CLOCK_MHZ = 93, 345  # degrees; an A100 slows down at 89 and shuts down at 92 after a while


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Set temperature, clocks and throttle reasons of a simulated GPU as with failed cooling.

    Return the lab's state.
    """
    rows = {
        "temperature": CELSIUS,
        "temperature.memory": CELSIUS + 2,
        "clock.sm": CLOCK_MHZ,
        "clock.graphics": CLOCK_MHZ,
    }
    reasons = HW_SLOWDOWN | SW_THERMAL | HW_THERMAL
    chosen(lab, host, options).set_values("gpu-hot", lasting=rows | {"clock.reasons": reasons})
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Restore the simulated GPU's temperature and clocks; return the lab's state."""
    chosen(lab, host, options).clear_values("gpu-hot")
    return lab
