"""Networks of clouds' GPU machines, by the names they are rented under."""

from __future__ import annotations

import re

# What the vendors' own pages on each machine type say: kind, ports of a node, Gbit/s of one.
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
    """Kind, ports of a node and Gbit/s of one; None where no known machine is named."""
    return next((network for pattern, network in _MACHINES if re.search(pattern, text)), None)
