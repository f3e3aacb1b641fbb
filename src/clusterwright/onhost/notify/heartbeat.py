"""Watches monitoring itself: the heartbeat alert must arrive, and the disk of Prometheus must have free space."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from clusterwright.onhost.notify import send
from clusterwright.onhost.notify.settings import NotifySettings

_MESSAGES = {
    "MonitoringSilent": {
        "en": (
            "Monitoring does not work: no alert will arrive",
            "The heartbeat alert has been missing for more than a minute: Prometheus is stopped or cannot work.",
            "On {node}: `systemctl status prometheus`, `journalctl -u prometheus -e`; the usual cause is a full disk.",
        ),
        "zh": (
            "监控已失效：不会再有告警",
            "始终触发的心跳告警已超过一分钟没有出现：Prometheus 没有运行，或无法工作。",
            "在 {node} 上：`systemctl status prometheus`、`journalctl -u prometheus -e`；常见原因是磁盘已满。",
        ),
    },
    "MonitorDiskFull": {
        "en": (
            "The disk of Prometheus is full",
            "Prometheus cannot store new data, so no alert can fire.",
            "Free space below /var/lib on {node}, or shorten the retention (`monitoring.retention`).",
        ),
        "zh": (
            "Prometheus 的磁盘已满",
            "Prometheus 无法保存新数据，告警无法触发。",
            "在 {node} 的 /var/lib 下清理空间，或缩短保留时间（`monitoring.retention`）。",
        ),
    },
}  # fmt: skip


class Watch:
    """Watches the heartbeat and Prometheus's disk; raises alerts about them itself."""

    def __init__(self, settings: NotifySettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings, self.clock = settings, clock
        self.last = clock()
        self.raised: dict[str, float] = {}
        self._failing_since = 0.0
        self._notified_channels: list[str] = []

    def beat(self) -> None:
        """Record that the heartbeat alert has arrived now."""
        self.last = self.clock()

    @property
    def is_overdue(self) -> bool:
        """Return True if the heartbeat alert is late, so that no alert can arrive.

        Prometheus, Alertmanager or the connection between them has failed.
        """
        return self.clock() - self.last > self.settings.heartbeat_timeout_s

    def check(self) -> None:
        """Raise or resolve the alerts MonitoringSilent (heartbeat overdue) and MonitorDiskFull.

        Raised alerts are sent again at every call: Alertmanager resolves alerts that are not repeated.
        """
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
        """Send the alerts to Alertmanager and return whether it responded; if not for long, send them to the channels.

        Each channel gets them once per outage.
        """
        try:
            send.post(self.settings.alertmanager + "/api/v2/alerts", alerts)
        except (OSError, ValueError):
            self._failing_since = self._failing_since or now
            if now - self._failing_since > self.settings.heartbeat_timeout_s:
                self._send_to_channels(alerts)
            return False
        self._failing_since, self._notified_channels = 0.0, []
        return True

    def _send_to_channels(self, alerts: list[dict[str, Any]]) -> None:
        firing = [dict(alert, status="firing") for alert in alerts if "endsAt" not in alert]
        group = {"cluster": self.settings.cluster, "incident": "monitoring"}
        for name in self.settings.channels:
            if firing and name not in self._notified_channels:
                try:
                    send.send_to_channel(self.settings, name, {"alerts": firing, "groupLabels": group})
                    self._notified_channels.append(name)
                except send.DeliveryError as error:
                    print(error, flush=True)


def _free(path: str) -> float:
    """Return the free share (0 to 1) of the disk of the path; 1 if it cannot be read or has no size."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return 1.0
    return disk.f_bavail / disk.f_blocks if disk.f_blocks else 1.0
