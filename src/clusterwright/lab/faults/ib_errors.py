"""Bad cable of an RDMA port: bit and packet errors; the port stays up."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.layout import LabHost
from clusterwright.lab.rdma.port import chosen
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("port",)
LASTS = True
refuse = chosen  # raises if there is no such port
_GROWTH = {
    "counters/symbol_error": 5000, "counters/port_rcv_errors": 1200,
    "counters/local_link_integrity_errors": 4, "hw_counters/local_ack_timeout_err": 300,
}  # fmt: skip


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Raise the RDMA port's error counters; injected again, they rise again; return the lab's state."""
    chosen(lab, host, options).grow(_GROWTH)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Reset the RDMA port: up, with counters at zero; return the lab's state."""
    chosen(lab, host, options).reset()
    return lab
