"""Error counters of RDMA adapters that node_exporter leaves out, among them those of RoCE losses."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator

from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family, counter

EVERY_S, TIMEOUT_S, STAYS = 15.0, 10.0, False
# Of mlx5, bnxt_re and irdma (Documentation/ABI/stable/sysfs-class-infiniband, hw_counters).
COUNTERS = (
    "local_ack_timeout_err", "out_of_sequence", "packet_seq_err", "rnr_nak_retry_err", "implied_nak_seq_err",
    "roce_slow_restart", "out_of_buffer", "to_retransmits", "seq_err_naks_rcvd", "rx_out_of_sequence",
)  # fmt: skip


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True if the host has RDMA adapters."""
    return os.path.isdir(settings.infiniband)


def collect(settings: ExporterSettings, _state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield the error counters of each port of the RDMA adapters; counters that a driver lacks are left out."""
    errors = counter("rdma_errors_total", "Errors of an RDMA port, by the driver's counter name.")
    for device in sorted(os.listdir(settings.infiniband)):
        ports = os.path.join(settings.infiniband, device, "ports")
        for port in sorted(os.listdir(ports) if os.path.isdir(ports) else ()):
            for name in COUNTERS:
                value = _number(os.path.join(ports, port, "hw_counters", name))
                if value is not None:
                    errors.add(value, device=device, port=port, counter=name)
    yield errors


def _number(path: str) -> Any:
    try:
        with open(path, encoding="ascii") as file:
            return float(file.read(32))
    except (OSError, ValueError):
        return None
