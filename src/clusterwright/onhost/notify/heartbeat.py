"""Monitoring is watched as well: an alert that always fires has to come, and its disk must have room."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from clusterwright.onhost.notify import send
from clusterwright.onhost.notify.settings import Settings

_MESSAGES = {
    "MonitoringSilent": {
        "en": (
            "Monitoring is silent: no alert can come",
            "The alert that always fires has not come for more than a minute. Prometheus does not run, or cannot work.",
            "On {node}: `systemctl status prometheus`, `journalctl -u prometheus -e`; a full disk is the usual find.",
        ),
        "zh": (
            "监控没有声音：不会再有告警",
            "始终触发的心跳告警已超过一分钟没有出现：Prometheus 没有运行，或无法工作。",
            "在 {node} 上：`systemctl status prometheus`、`journalctl -u prometheus -e`；常见原因是磁盘已满。",
        ),
    },
    "MonitorDiskFull": {
        "en": (
            "The disk of monitoring is full",
            "Prometheus keeps nothing new, so alerts do not see what happens.",
            "Make room below /var/lib on {node}, or keep figures for a shorter time (`monitoring.retention`).",
        ),
        "zh": (
            "监控的磁盘已满",
            "Prometheus 无法保存新数据，告警看不到正在发生的事。",
            "在 {node} 的 /var/lib 下清理空间，或缩短保留时间（`monitoring.retention`）。",
        ),
    },
}  # fmt: skip


class Watch:
    """Knows when the heartbeat came last, and what has been raised."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings, self.clock = settings, clock
        self.last = clock()
        self.raised: dict[str, float] = {}
        self._failing_since = 0.0
        self._notified_channels: list[str] = []

    def beat(self) -> None:
        """The alert that always fires has come."""
        self.last = self.clock()

    @property
    def is_overdue(self) -> bool:
        """True when no alert can come: Prometheus or Alertmanager is dead, or what lies between them."""
        return self.clock() - self.last > self.settings.silent_s

    def check(self) -> None:
        """Raises, or takes back, what there is to say; Alertmanager forgets what is not said again in time."""
        now = self.clock()
        wrong = {
            "MonitoringSilent": self.is_overdue,
            "MonitorDiskFull": _free(self.settings.data) < self.settings.least_free,
        }
        alerts = [
            self._alert(name, over=not is_wrong)
            for name, is_wrong in wrong.items()
            if is_wrong or name in self.raised
        ]
        if alerts and not self._to_alertmanager(alerts, now):
            return
        self.raised = {name: self.raised.get(name, now) for name, is_wrong in wrong.items() if is_wrong}

    def _alert(self, name: str, *, over: bool) -> dict[str, Any]:
        settings = self.settings
        texts = _MESSAGES[name].get(settings.language, _MESSAGES[name]["en"])
        summary, description, fix = (text.format(node=settings.node) for text in texts)
        alert: dict[str, Any] = {
            "labels": {
                "alertname": name, "severity": "critical", "component": "monitoring", "incident": "monitoring",
                "cluster": settings.cluster,
            },
            "annotations": {"summary": summary, "description": description, "fix": fix},
        }  # fmt: skip
        if over:
            alert["endsAt"] = datetime.now(timezone.utc).isoformat()  # noqa: UP017 (Python 3.10)
        return alert

    def _to_alertmanager(self, alerts: list[dict[str, Any]], now: float) -> bool:
        """To the rooms themselves, once, where Alertmanager does not answer for long."""
        try:
            send.post(self.settings.alertmanager + "/api/v2/alerts", alerts)
        except (OSError, ValueError):
            self._failing_since = self._failing_since or now
            if now - self._failing_since > self.settings.silent_s:
                self._send_to_channels(alerts)
            return False
        self._failing_since, self._notified_channels = 0.0, []
        return True

    def _send_to_channels(self, alerts: list[dict[str, Any]]) -> None:
        firing = [dict(alert, status="firing") for alert in alerts if "endsAt" not in alert]
        group = {"cluster": self.settings.cluster, "incident": "monitoring"}
        for name in self.settings.rooms:
            if firing and name not in self._notified_channels:
                try:
                    send.send_to_channel(self.settings, name, {"alerts": firing, "groupLabels": group})
                    self._notified_channels.append(name)
                except send.DeliveryError as error:
                    print(error, flush=True)


def _free(path: str) -> float:
    """Share of the disk that is free; all of it where it cannot be asked."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return 1.0
    return disk.f_bavail / disk.f_blocks if disk.f_blocks else 1.0
