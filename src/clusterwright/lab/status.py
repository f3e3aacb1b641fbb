"""The status of each host of a lab."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clusterwright.edge.ssh import fan_out
from clusterwright.lab import boot, cgroups, state
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host: its uptime since the last boot, None when it is down; faults as a user types them."""

    host: str
    address: str
    state: Literal["running", "booting", "paused", "down"]
    uptime_s: int | None
    faults: tuple[str, ...]


def status(name: str) -> tuple[HostStatus, ...]:
    """Return the status of every host of the lab, in the order of the file.

    `running` means that sshd responds; a host whose management link is cut looks like one that boots.

    Raises:
        WrightError: There is no such lab.
    """
    lab = state.require(name)
    return tuple(
        fan_out(
            [host.name for host in lab.layout.hosts],
            lambda host_name: _host_status(lab, lab.layout.host(host_name)),
        ).values()
    )


def _host_status(lab: LabState, host: LabHost) -> HostStatus:
    faults = tuple(
        " ".join((fault.kind, *fault.options.values())) for fault in lab.faults if fault.host == host.name
    )
    process = lab.processes.get(host.name)
    if process is None or not boot.is_running(process):
        return HostStatus(host.name, host.address, "down", None, faults)
    started = boot.started_ticks(boot.init_of(process) or process.pid) or process.started_ticks
    uptime_s = int(_machine_uptime_s() - started / os.sysconf("SC_CLK_TCK"))
    if cgroups.is_frozen(lab.name, host.name):
        return HostStatus(host.name, host.address, "paused", uptime_s, faults)
    return HostStatus(
        host.name, host.address, "running" if boot.listens(host) else "booting", uptime_s, faults
    )


def _machine_uptime_s() -> float:
    return float(Path("/proc/uptime").read_text().split()[0])
