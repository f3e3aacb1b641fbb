"""Slow disk of a host: reads and writes are limited to a rate, as on a disk about to fail."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.lab import disk_rate
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState
from clusterwright.units import parse_rate

OPTIONS = ("rate",)
LASTS = True
DEFAULT_RATE = "5MB/s"  # a disk that retries each sector


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if the rate is invalid, or the kernel cannot limit disks."""
    bytes_per_s(options)
    if not disk_rate.able(lab.name, host.name):
        raise WrightError.from_code(
            "lab-missing-kernel-part",
            _("this kernel has no disk rate limits (blkio.throttle or io.max in the control groups)"),
            _("use a machine whose kernel has CONFIG_BLK_DEV_THROTTLING"),
        )


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Limit the rate of the host's disk; return the lab's state.

    Direct and synced I/O is slow at once, cached writes at write-back.
    """
    disk_rate.limit_rate(lab.name, host.name, disk_of(lab, host), bytes_per_s(options))
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Remove the rate limit of the host's disk; return the lab's state."""
    disk_rate.release(lab.name, host.name, disk_of(lab, host))
    return lab


def disk_of(lab: LabState, host: LabHost) -> Path:
    """Return the path at which the host's disk is mounted."""
    return lab.host_folder(host.name) / "disk"


def bytes_per_s(options: Mapping[str, str]) -> int:
    """Return the rate of the option `rate`, which is in bits per second, as bytes per second.

    Raises:
        WrightError: It is no rate.
    """
    try:
        return max(1, parse_rate(options.get("rate", DEFAULT_RATE)) // 8)
    except ValueError as error:
        raise WrightError.from_code(
            "lab-fault-option", f"--rate: {error}", "e.g. --rate 5MB/s", exit_code=EXIT_USAGE
        ) from error
