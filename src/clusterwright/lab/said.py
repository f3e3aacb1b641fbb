"""What a host's kernel says."""

from __future__ import annotations

from pathlib import Path

from clusterwright.lab import boot, host, kernel_log
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState


def say(lab: LabState, one: LabHost, line: str) -> None:
    """A line is in the host's kernel log, if the host is up."""
    keeper = lab.processes.get(one.name)
    first = boot.init_of(keeper) if keeper else None
    if first is not None:
        kernel_log.write(host.kernel_pipe(lab, one), Path(f"/proc/{first}/root"), line)
