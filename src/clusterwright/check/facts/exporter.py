"""Our own exporter."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact
from clusterwright.provision.render.firewall_table import CLUSTER_EXPORTER_PORT
from clusterwright.provision.roles.certificates import AUTHORITY, CERTIFICATE, KEY

_ROW = re.compile(r'^clusterwright_collector_up\{collector="(\w+)"\} ([01])$', re.MULTILINE)


def _arguments(spec: HostSpec) -> Sequence[str]:
    return (f"https://{spec.host.management}:{CLUSTER_EXPORTER_PORT}/metrics", AUTHORITY, CERTIFICATE, KEY)


@fact(_arguments, probe="fetch", codes=(0, 1))  # 124, a host that may be busy, is unknown
def exporter(out: str) -> dict[str, bool] | str:
    """Which collectors answer, by name, of the exporter on the management address; or why none does."""
    collectors = {name: up == "1" for name, up in _ROW.findall(out)}
    if not collectors and not out.startswith("error: "):
        raise ValueError(out[:80])
    return collectors or out.strip()
