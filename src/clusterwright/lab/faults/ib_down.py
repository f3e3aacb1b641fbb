"""An RDMA port is down: its cable finds nobody at the other end; what goes over interfaces goes on (see link-down)."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.layout import LabHost
from clusterwright.lab.rdma.port import chosen
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("port",)
LASTS = True
refuse = chosen  # raises where there is no such port


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """State, counter and kernel log tell."""
    port = chosen(lab, host, options)
    port.set_values(state="1: DOWN", phys_state="2: Polling")
    port.grow({"counters/link_downed": 1})
    port.write_kernel_message("Port: 1 Link DOWN")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """It is up, and its counters are at zero."""
    chosen(lab, host, options).reset()
    return lab
