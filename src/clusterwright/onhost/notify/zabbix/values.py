"""What an alert is to Zabbix: a value of its item, a line for each thing that a person or a trigger reads. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from clusterwright.onhost.notify.words import cut, plain

Alert = Mapping[str, Any]
_MOST_LINE = 2000  # bytes; Zabbix takes 65536 of a text, and shows 2048 of a problem's name
_MOST_NAME = 250  # of a tag
_WORDS = ("summary", "description", "mend", "runbook_url")


def key(alert: Alert, known: Collection[str]) -> str:
    """Its item; alerts that the template does not know share one for each severity."""
    labels = alert.get("labels") or {}
    name, level = labels.get("alertname", ""), labels.get("severity", "")
    if name in known:
        return f"clusterwright.alert[{name}]"
    return f"clusterwright.other[{level if level in ('critical', 'info') else 'warning'}]"


def fingerprint(alert: Alert) -> str:
    """Alertmanager's, which is the same as long as its labels are; our own where it gives none."""
    if alert.get("fingerprint"):
        return str(alert["fingerprint"])[:_MOST_NAME]
    labels = sorted((alert.get("labels") or {}).items())
    return hashlib.sha256(repr(labels).encode()).hexdigest()[:16]


def value(alert: Alert) -> str:
    """What opens a problem, or closes it."""
    word = "OK" if alert.get("status") == "resolved" else "PROBLEM"
    labels, words = alert.get("labels") or {}, alert.get("annotations") or {}
    lines = [cut(plain(words.get(name, "")), _MOST_LINE) for name in _WORDS]
    lines[0] = lines[0] or plain(labels.get("alertname", ""))
    where = [cut(plain(labels.get(name, "")), _MOST_NAME) for name in ("node", "incident")]
    return "\n".join([word, fingerprint(alert), *where, *lines])
