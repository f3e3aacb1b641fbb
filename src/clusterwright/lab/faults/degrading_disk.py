"""Disk of a host whose rate falls each minute, as of one that retries more and more sectors; undo removes the limit.

--rate is the rate that it begins with; --per-minute and --percent, the lowest, are percentages of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab import disk_rate
from clusterwright.lab.faults import slow_disk
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import falling_percent
from clusterwright.lab.state import LabState

OPTIONS = ("rate", "per-minute", "percent")
LASTS = True
DEFAULT_RATE = "200MB/s"  # of a hard disk in sequence
undo = slow_disk.undo


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if an option is out of range, or the kernel cannot limit disks."""
    falling_percent(options, 0)
    slow_disk.refuse(lab, host, _initial(options))


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Limit the host's disk to the initial rate of the gradual fault; return the lab's state."""
    step(lab, host, options, 0)
    return lab


def step(lab: LabState, host: LabHost, options: Mapping[str, str], minutes: float) -> bool:
    """Limit the host's disk to the rate that the gradual fault has after so many minutes.

    Return False once that is its lowest.
    """
    percent, lowest = falling_percent(options, minutes)
    bytes_per_s = max(1, int(slow_disk.bytes_per_s(_initial(options)) * percent / 100))
    disk_rate.limit_rate(lab.name, host.name, slow_disk.disk_of(lab, host), bytes_per_s)
    return percent > lowest


def _initial(options: Mapping[str, str]) -> Mapping[str, str]:
    return {"rate": DEFAULT_RATE, **options}
