"""The Clusterwright exporter of the host."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact
from clusterwright.provision.render.firewall_table import CLUSTER_EXPORTER_PORT
from clusterwright.provision.roles.certificates import AUTHORITY, CERTIFICATE, KEY

_ROW = re.compile(r'^clusterwright_collector_up\{collector="(\w+)"\} ([01])$', re.MULTILINE)


def _arguments(spec: HostSpec) -> Sequence[str]:
    return (f"https://{spec.host.management}:{CLUSTER_EXPORTER_PORT}/metrics", AUTHORITY, CERTIFICATE, KEY)


@fact(_arguments, probe="fetch", codes=(0, 1))  # 124 (timeout on a busy host) is unknown
def exporter(out: str) -> dict[str, bool] | str:
    """Whether each collector of the Clusterwright exporter is up, by name; or the error of the request."""
    collectors = {name: up == "1" for name, up in _ROW.findall(out)}
    if not collectors and not out.startswith("error: "):
        raise ValueError(out[:80])
    return collectors or out.strip()
