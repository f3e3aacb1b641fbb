"""What the program is told by its file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Settings:
    """`rooms` by name: feishu, dingtalk or wecom; their addresses lie in `secrets`.

    `zabbix` by name: `server`, `host` and perhaps `tls`; `alerts` and `figures` are what its template knows.
    """

    cluster: str
    node: str
    language: str
    port: int
    secrets: str
    rooms: dict[str, str]
    alertmanager: str
    data: str  # where Prometheus keeps what it has
    silent_s: float = 90.0  # three beats
    every_s: float = 5.0
    least_free: float = 0.03  # of that disk
    zabbix: dict[str, dict[str, Any]] = field(default_factory=dict)
    alerts: list[str] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)
    figures_every_s: float = 60.0
    gone_s: float = 300.0  # an alert that Alertmanager has not known for so long is over, told or not
    prometheus: str = ""
    state: str = "/var/lib/clusterwright/notify"


def read(path: str) -> Settings:
    """Those of the file; keys of a newer release are passed over."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    return Settings(**{name: document[name] for name in Settings.__dataclass_fields__ if name in document})


def channel_address(settings: Settings, name: str) -> tuple[str, str]:
    """Address and key for signatures, empty where there is none; read each time, for a site may change it."""
    with open(f"{settings.secrets}/{name}", encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[0], (lines[1] if len(lines) > 1 else "")
