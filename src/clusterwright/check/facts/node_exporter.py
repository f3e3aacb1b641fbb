"""The host's own metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clusterwright.check.fact import Want, fact
from clusterwright.provision.roles.certificates import AUTHORITY, CERTIFICATE, KEY
from clusterwright.provision.roles.node_exporter import speaks_tls


def _arguments(want: Want) -> Sequence[str]:
    address = f"{want.host.management}:9100/metrics"
    if not speaks_tls(want.cluster):
        return (f"http://{address}",)
    return (f"https://{address}", AUTHORITY, CERTIFICATE, KEY)


@fact(_arguments, probe="fetch", codes=(0, 1))  # 124, a host that may be busy, is unknown
def node_exporter(out: str) -> str:
    """Version of the node_exporter that answers on the management address; or why none does."""
    found = re.search(r'^node_exporter_build_info\{[^}]*version="([^"]+)"', out, re.MULTILINE)
    if found:
        return f"node_exporter {found[1]}"
    if not out.startswith("error: "):
        raise ValueError(out[:80])
    return out.strip()
