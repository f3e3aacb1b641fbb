"""Alerts that are on, as Alertmanager has them; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterwright.monitor.gather.alert_words import both
from clusterwright.monitor.picture import Alert

_SUBJECT = ("node", "job", "run", "account", "partition", "receiver", "instance")  # the first that there is
_ORDER = {"critical": 0, "warning": 1, "info": 2}


def alerts(said: Iterable[Mapping[str, Any]]) -> tuple[Alert, ...]:
    """The worst first, muted ones last; without the one that is on to show that alerts arrive."""
    found = [_alert(each) for each in said]
    shown = [each for each in found if each.name and each.severity != "none"]
    return tuple(
        sorted(shown, key=lambda each: (each.muted, _ORDER.get(each.severity, len(_ORDER)), each.since))
    )


def _alert(said: Mapping[str, Any]) -> Alert:
    labels, notes = dict(said.get("labels") or {}), dict(said.get("annotations") or {})
    subject = next((str(labels[name]) for name in _SUBJECT if labels.get(name)), "")
    name = str(labels.get("alertname", ""))
    en, zh = both(name, str(notes.get("summary") or notes.get("description") or name))
    return Alert(
        name,
        str(labels.get("severity", "warning")),
        subject,
        float(said.get("since") or 0),
        en,
        str(notes.get("summary_zh") or zh),
        str(notes.get("runbook_url", "")),
        bool(said.get("muted")),
    )
