"""Count bytes received and sent on all networks of the host, InfiniBand included."""

from __future__ import annotations

import glob
import os
from typing import Dict, Tuple

from clusterwright.onhost.exporter.state_files import number_of

_LANES = 4  # data counters of a port are in units of four bytes (InfiniBand specification, PortCounters)


def byte_totals(net: str, infiniband: str) -> Tuple[Dict[str, float], Dict[str, float]]:
    """Return two tables: the bytes received, and sent, by network device.

    Physical Ethernet and InfiniBand devices only, so that no byte counts twice.
    """
    received: Dict[str, float] = {}
    transmitted: Dict[str, float] = {}
    for path in glob.glob(os.path.join(glob.escape(net), "*")):
        if os.path.basename(path) != "lo" and not _upper(path):
            _set_value(received, path, number_of(f"{path}/statistics/rx_bytes"), 1)
            _set_value(transmitted, path, number_of(f"{path}/statistics/tx_bytes"), 1)
    for path in glob.glob(os.path.join(glob.escape(infiniband), "*/ports/*/counters")):
        _set_value(received, path, number_of(f"{path}/port_rcv_data"), _LANES)
        _set_value(transmitted, path, number_of(f"{path}/port_xmit_data"), _LANES)
    return received, transmitted


def _upper(path: str) -> bool:
    """Return True if the network device is a bridge, bond or VLAN: its traffic passes through other devices too."""
    return bool(glob.glob(f"{path}/lower_*")) or os.path.isdir(f"{path}/bridge")


def _set_value(into: Dict[str, float], path: str, value: object, factor: int) -> None:
    if isinstance(value, int):
        into[path] = float(value * factor)
