"""Networks of cloud GPU instances, by the name of the instance type."""

from __future__ import annotations

import re

# Network kind, ports per node and Gbit/s per port, from the vendors' pages on each instance type.
_MACHINES = (
    (r"\ba3[- ]?ultra|\ba4[- ]?high|\ba4x\b", ("roce", 8, 400)),  # Google Cloud
    (r"\ba3[- ]?mega|megagpu", ("tcpxo", 8, 200)),  # GPUDirect-TCPXO
    (r"\ba3\b|a3[- ]high", ("tcpx", 4, 200)),  # GPUDirect-TCPX
    (r"\ba2[- ](?:ultra|mega|high)", ("ethernet", 1, 100)),
    (r"\bp3\.16xlarge", ("ethernet", 1, 25)),  # Amazon EC2
    (r"\bp3dn", ("ethernet", 1, 100)),
    (r"\bp4de?\b", ("efa", 4, 100)),
    (r"\bp5e?n?\b", ("efa", 8, 400)),
    (r"\bnd\d*[a-z]*_?a100_?v4|ndm?a100|nd96a[m]?sr", ("infiniband", 8, 200)),  # Azure
    (r"\bnd\d*[a-z]*_?h[12]00_?v5", ("infiniband", 8, 400)),
)


def network_of(text: str) -> tuple[str, int, int] | None:
    """Return (network kind, ports per node, Gbit/s per port) of the instance type in a lower-case text, or None."""
    return next((network for pattern, network in _MACHINES if re.search(pattern, text)), None)
