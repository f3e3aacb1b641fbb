"""Write messages to a host's kernel log."""

from __future__ import annotations

from pathlib import Path

from clusterwright.lab import boot, host, kernel_log
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState


def write_kernel_message(lab: LabState, lab_host: LabHost, line: str) -> None:
    """Write a line to the host's kernel log, if the host is up."""
    keeper = lab.processes.get(lab_host.name)
    init_pid = boot.init_of(keeper) if keeper else None
    if init_pid is not None:
        kernel_log.write(host.kernel_pipe(lab, lab_host), Path(f"/proc/{init_pid}/root"), line)
