"""The NVLink domain of the host's GPUs."""

from __future__ import annotations

import re

from clusterwright.check.fact import fact

_LINES = re.compile(r"^\s*(ClusterUUID|CliqueId)\s*: (.*)$", re.MULTILINE)
_NO_DOMAIN = re.compile(r"N/A|0{8}-0{4}-0{4}-0{4}-0{12}|0")
_COMMAND = (
    "command -v nvidia-smi >/dev/null || { echo @; exit 0; };"
    ' nvidia-smi -q | grep -E "^ *(ClusterUUID|CliqueId|Attached GPUs) *:"; echo @'
)


@fact("sh", "-c", _COMMAND, limit_s=30)
def nvl_domain(out: str) -> str:
    """`UUID.CLIQUE` where NVLink switches connect the GPUs of several hosts, else empty."""
    if not out.endswith("@\n"):
        raise ValueError(out[:80])
    values = {name: value.strip() for name, value in _LINES.findall(out)}
    uuid = values.get("ClusterUUID", "N/A")
    return "" if _NO_DOMAIN.fullmatch(uuid) else f"{uuid}.{values.get('CliqueId', '0')}"
