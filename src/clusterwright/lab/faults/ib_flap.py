"""Flapping RDMA port: down and up six times; whenever it is polled it is up, only its counters show it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.layout import LabHost
from clusterwright.lab.rdma.port import chosen
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("port",)
LASTS = True
refuse = chosen  # raises if there is no such port
_TIMES = 6  # more than the five in 24 h that azurehpc-health-checks counts as flapping


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Count several flaps of the RDMA port and log each in the kernel log; the port stays up.

    Return the lab's state.
    """
    port = chosen(lab, host, options)
    port.grow({"counters/link_downed": _TIMES, "counters/link_error_recovery": _TIMES})
    for _ in range(_TIMES):
        port.write_kernel_message("Port: 1 Link DOWN")
        port.write_kernel_message("Port: 1 Link ACTIVE")
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Reset the RDMA port: up, with counters at zero; return the lab's state."""
    chosen(lab, host, options).reset()
    return lab
