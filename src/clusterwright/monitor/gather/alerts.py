"""Firing alerts from Alertmanager; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from clusterwright.catalog.watch.alert import AlertText, read
from clusterwright.i18n import in_language
from clusterwright.monitor.snapshot import Alert

_BLANK = re.compile(r"\{\{ *(.*?) *\}\}")
_NAME = re.compile(r"\w{1,64}")


def localized_summary(name: str, summary: str) -> tuple[str, str]:
    """Return the summary of the alert `name`, as Alertmanager has it, in English and Chinese.

    If the catalog lacks the alert, or its template does not match: the summary itself and an empty text.
    """
    messages = _messages(name)
    if messages is None:
        return summary, ""
    en, zh = messages
    for template in (en.summary, zh.summary):
        if (filled := _filled(template, summary)) is not None:
            return _fill(en.summary, filled), _fill(zh.summary, filled)
    return summary, ""


@cache
def _messages(name: str) -> tuple[AlertText, AlertText] | None:
    if not _NAME.fullmatch(name):
        return None
    file = files("clusterwright.catalog.watch") / "alerts" / f"{name}.toml"
    if not file.is_file():
        return None
    text = read(name, file.read_text(encoding="utf-8")).text
    with in_language("zh"):
        return text, text.translated()


def _filled(template: str, summary: str) -> dict[str, str] | None:
    """Return the values of a template's fields in a rendered text; None if the text is not of that template."""
    blanks = _BLANK.findall(template)
    parts = [re.escape(part) for part in _BLANK.split(template)[::2]]
    match = re.fullmatch("(.*?)".join(parts), summary, re.DOTALL)
    return dict(zip(blanks, match.groups(), strict=True)) if match else None


def _fill(template: str, filled: dict[str, str]) -> str:
    return _BLANK.sub(lambda blank: filled.get(blank[1], "?"), template)


_SUBJECT = (
    "node",
    "job",
    "run",
    "account",
    "partition",
    "receiver",
    "instance",
)  # labels that name the alert's subject; the first one that is set counts
_ORDER = {"critical": 0, "warning": 1, "info": 2}


def alerts(documents: Iterable[Mapping[str, Any]]) -> tuple[Alert, ...]:
    """Return alerts by severity, oldest first, silenced ones last.

    Alerts without a name, and of severity `none` (the watchdog, which always fires), are left out.
    """
    all_alerts = [_alert(document) for document in documents]
    visible_alerts = [alert for alert in all_alerts if alert.name and alert.severity != "none"]
    return tuple(
        sorted(
            visible_alerts,
            key=lambda alert: (alert.muted, _ORDER.get(alert.severity, len(_ORDER)), alert.since),
        )
    )


def _alert(document: Mapping[str, Any]) -> Alert:
    labels, notes = dict(document.get("labels") or {}), dict(document.get("annotations") or {})
    subject = next((str(labels[name]) for name in _SUBJECT if labels.get(name)), "")
    name = str(labels.get("alertname", ""))
    en, zh = localized_summary(name, str(notes.get("summary") or notes.get("description") or name))
    return Alert(
        name,
        str(labels.get("severity", "warning")),
        subject,
        float(document.get("since") or 0),
        en,
        str(notes.get("summary_zh") or zh),
        str(notes.get("runbook_url", "")),
        bool(document.get("muted")),
    )
