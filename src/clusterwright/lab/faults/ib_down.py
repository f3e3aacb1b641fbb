"""RDMA port down, as without a peer at its cable; traffic over network interfaces is not affected (see link-down)."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.layout import LabHost
from clusterwright.lab.rdma.port import chosen
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("port",)
LASTS = True
refuse = chosen  # raises if there is no such port


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Set the RDMA port down, count the event, and log it in the kernel log; return the lab's state."""
    port = chosen(lab, host, options)
    port.set_values(state="1: DOWN", phys_state="2: Polling")
    port.grow({"counters/link_downed": 1})
    port.write_kernel_message("Port: 1 Link DOWN")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Bring the RDMA port up, with counters at zero; return the lab's state."""
    chosen(lab, host, options).reset()
    return lab
