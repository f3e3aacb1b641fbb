"""GPU that grows hot, as with a failing fan: --per-minute degrees Celsius, until its clocks are at a quarter.

From the highest temperature for work on, the clocks fall; a reboot does not cool it.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.faults.gpu_hot import CELSIUS, CLOCK_MHZ, HW_SLOWDOWN, HW_THERMAL, SW_THERMAL
from clusterwright.lab.gpus.gpu import chosen
from clusterwright.lab.gpus.initial_state import clocks_mhz
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import parse_amount
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("gpu", "per-minute")
LASTS = True
_NAME = "gpu-heating"
_BEGIN, _THROTTLED, _SLOWDOWN = 60, 85, 89  # degrees Celsius: at work, the driver's limit, the hardware's
_PER_MINUTE, _MOST_PER_MINUTE = 3, 60


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if there is no such GPU, or the rate is out of range."""
    chosen(lab, host, options)
    _celsius(options, 0)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Set the GPU to the temperature of one at work: the start of the gradual fault; return the lab's state."""
    step(lab, host, options, 0)
    return lab


def step(lab: LabState, host: LabHost, options: Mapping[str, str], minutes: float) -> bool:
    """Set the GPU's temperature, clocks and throttle reasons after so many minutes; return False at the highest."""
    gpu, celsius = chosen(lab, host, options), _celsius(options, minutes)
    full_mhz = clocks_mhz(gpu.gpus)[0]
    hot_share = max(0.0, (celsius - _THROTTLED) / (CELSIUS - _THROTTLED))
    mhz = int(full_mhz - hot_share * (full_mhz - CLOCK_MHZ))
    reasons = SW_THERMAL * (celsius > _THROTTLED) | (HW_SLOWDOWN | HW_THERMAL) * (celsius >= _SLOWDOWN)
    temperatures = {"temperature": int(celsius), "temperature.memory": int(celsius) + 2}
    clocks = {"clock.sm": mhz, "clock.graphics": mhz}
    gpu.set_values(_NAME, lasting=temperatures | clocks | {"clock.reasons": reasons})
    return celsius < CELSIUS


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Restore the simulated GPU's temperature and clocks; return the lab's state."""
    chosen(lab, host, options).clear_values(_NAME)
    return lab


def _celsius(options: Mapping[str, str], minutes: float) -> float:
    return min(CELSIUS, _BEGIN + parse_amount(options, "per-minute", _PER_MINUTE, _MOST_PER_MINUTE) * minutes)
