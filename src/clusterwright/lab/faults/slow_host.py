"""Slow host: its processes get a share of a processor, as on an overheated host; undo removes the limit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab import cgroups
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import parse_number
from clusterwright.lab.state import LabState

OPTIONS = ("percent",)
LASTS = True
_DEFAULT, _BELOW = 20, 101
PERIOD_US = 100_000
V1, V2 = "cpu.cfs_quota_us", "cpu.max"


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if the share is invalid, or the kernel has no CPU quotas."""
    parse_number(options, "percent", _DEFAULT, _BELOW)
    require_quotas(lab, host)


def require_quotas(lab: LabState, host: LabHost) -> None:
    """Raise an error if the kernel has no CPU quotas."""
    if not _places(lab, host):
        raise WrightError.from_code(
            "lab-missing-kernel-part",
            _("this kernel has no CPU quotas (cpu.cfs_quota_us or cpu.max)"),
            _("use a machine whose kernel has CONFIG_CFS_BANDWIDTH"),
        )


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Limit the host to a percentage of one processor, which is what a rank of a training has.

    Return the lab's state.
    """
    limit_share(lab, host, max(1, parse_number(options, "percent", _DEFAULT, _BELOW)))
    return lab


def limit_share(lab: LabState, host: LabHost, percent: float) -> None:
    """Limit all processes of the lab host together to a percentage of one processor's time."""
    quota = int(percent * PERIOD_US / 100)
    for path in _places(lab, host):
        path.write_text(f"{quota} {PERIOD_US}" if path.name == V2 else str(quota))


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Remove the host's limit of CPU time; return the lab's state."""
    for path in _places(lab, host):
        path.write_text(f"max {PERIOD_US}" if path.name == V2 else "-1")
    return lab


def _places(lab: LabState, host: LabHost) -> tuple[Path, ...]:
    groups = cgroups.groups(lab.name, host.name)
    return tuple(group / name for group in groups for name in (V1, V2) if (group / name).exists())
