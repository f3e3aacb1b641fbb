"""The node_exporter of the host."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact
from clusterwright.provision.roles.certificates import AUTHORITY, CERTIFICATE, KEY
from clusterwright.provision.roles.node_exporter import supports_tls


def _arguments(spec: HostSpec) -> Sequence[str]:
    address = f"{spec.host.management}:9100/metrics"
    if not supports_tls(spec.cluster):
        return (f"http://{address}",)
    return (f"https://{address}", AUTHORITY, CERTIFICATE, KEY)


@fact(_arguments, probe="fetch", codes=(0, 1))  # 124 (timeout on a busy host) is unknown
def node_exporter(out: str) -> str:
    """Version of the node_exporter on the management address, or the error of the request."""
    match = re.search(r'^node_exporter_build_info\{[^}]*version="([^"]+)"', out, re.MULTILINE)
    if match:
        return f"node_exporter {match[1]}"
    if not out.startswith("error: "):
        raise ValueError(out[:80])
    return out.strip()
