"""The notifier's settings file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

AUTHORIZATION = ".notify-token"  # file in the folder of secrets


@dataclass(frozen=True)
class NotifySettings:
    """`channels`: kind of each chat channel (feishu, dingtalk or wecom); their addresses are files in `secrets`.

    `zabbix`: by name `server`, `host` and optionally `tls`; `alerts` and `figures` are those of its template.
    """

    cluster: str
    node: str
    language: str
    port: int
    secrets: str
    channels: dict[str, str]
    alertmanager: str
    data: str  # Prometheus's data folder
    heartbeat_timeout_s: float = 90.0  # three beats
    every_s: float = 5.0
    least_free: float = 0.03  # free share of its disk
    zabbix: dict[str, dict[str, Any]] = field(default_factory=dict)
    alerts: list[str] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)
    figures_every_s: float = 60.0
    resolve_timeout_s: float = 300.0  # an alert missing in Alertmanager for so long counts as resolved
    prometheus: str = ""
    state: str = "/var/lib/clusterwright/notify"


def read(path: str) -> NotifySettings:
    """Return the settings of the file; unknown keys, of a newer release, are ignored."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    return NotifySettings(
        **{name: document[name] for name in NotifySettings.__dataclass_fields__ if name in document}
    )


def request_token(settings: NotifySettings) -> str:
    """Return the token that requests must carry; "" if it cannot be read. Only Alertmanager's account has it too."""
    try:
        with open(f"{settings.secrets}/{AUTHORIZATION}", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def channel_address(settings: NotifySettings, name: str) -> tuple[str, str]:
    """Return URL and signing key ("" if none) of a chat channel from its file, which may change any time."""
    with open(f"{settings.secrets}/{name}", encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[0], (lines[1] if len(lines) > 1 else "")
