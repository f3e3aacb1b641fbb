"""The text of a chat message: one incident, one line per alert. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.onhost.lib.clean_text import UNSAFE
from clusterwright.onhost.lib.safe_names import without_unsafe_commands

MOST_ALERTS = 10  # per message; the rest is counted
_CAPTIONS = {
    "en": {
        "firing": "firing", "resolved": "resolved", "critical": "CRITICAL", "warning": "warning", "info": "info",
        "more": "and {} more", "fix": "Fix: ", "page": "More: ",
    },
    "zh": {
        "firing": "触发", "resolved": "恢复", "critical": "严重", "warning": "警告", "info": "提示",
        "more": "另有 {} 条", "fix": "处理：", "page": "详情：",
    },
}  # fmt: skip


def message(payload: Mapping[str, Any], language: str) -> tuple[str, str]:
    """Return title and text of the chat message for the payload of Alertmanager's webhook."""
    captions = _CAPTIONS.get(language, _CAPTIONS["en"])
    alerts: list[Mapping[str, Any]] = list(payload.get("alerts") or [])
    group: Mapping[str, str] = payload.get("groupLabels") or {}
    counts = [
        f"{captions[state]} {count}"
        for state in ("firing", "resolved")
        if (count := sum(alert.get("status") == state for alert in alerts))
    ]
    title = "Clusterwright {}: {} ({})".format(
        sanitize(group.get("cluster", "")), sanitize(group.get("incident", "")), ", ".join(counts),
    )  # fmt: skip
    lines = [_lines(alert, captions) for alert in alerts[:MOST_ALERTS]]
    if len(alerts) > MOST_ALERTS:
        lines.append(captions["more"].format(len(alerts) - MOST_ALERTS))
    return title, "\n\n".join(lines)


def _lines(alert: Mapping[str, Any], captions: dict[str, str]) -> str:
    labels: Mapping[str, str] = alert.get("labels") or {}
    notes: Mapping[str, str] = alert.get("annotations") or {}
    over = alert.get("status") == "resolved"
    level = captions["resolved"] if over else captions.get(labels.get("severity", ""), "")
    lines = ["[{}] {}".format(level, note(alert, "summary") or sanitize(labels.get("alertname", "")))]
    if not over:
        lines += [note(alert, "description")] if notes.get("description") else []
        lines += [captions["fix"] + note(alert, "fix")] if notes.get("fix") else []
        lines += [captions["page"] + sanitize(notes["runbook_url"])] if notes.get("runbook_url") else []
    return "\n".join(lines)


def note(alert: Mapping[str, Any], name: str) -> str:
    """Return an alert's annotation, cleaned: its commands to copy have no label value that is unsafe in a shell."""
    labels: Mapping[str, Any] = alert.get("labels") or {}
    text = str((alert.get("annotations") or {}).get(name, ""))
    values = (str(value) for key, value in labels.items() if key != "incident")
    return sanitize(without_unsafe_commands(text, values))


def sanitize(text: str) -> str:
    """Return text without control and direction characters, and with `@` neutralized: names are untrusted."""
    spaced = "".join(" " if ord(letter) < 32 else letter for letter in str(text))
    return UNSAFE.sub("", spaced).replace("@", "＠")


def truncate(text: str, most: int) -> str:
    """Return the text in at most `most` bytes of UTF-8, whole characters, with an ellipsis if truncated."""
    data = text.encode()
    return text if len(data) <= most else data[: most - 3].decode(errors="ignore") + "…"
