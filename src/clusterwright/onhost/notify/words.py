"""What a room reads: one incident, a line for each alert. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_ALERTS = 10  # of one message; the rest is a number
_SAID = {
    "en": {
        "firing": "firing", "resolved": "over", "critical": "CRITICAL", "warning": "warning", "info": "note",
        "more": "and {} more", "mend": "Mend: ", "page": "More: ",
    },
    "zh": {
        "firing": "触发", "resolved": "恢复", "critical": "严重", "warning": "警告", "info": "提示",
        "more": "另有 {} 条", "mend": "处理：", "page": "详情：",
    },
}  # fmt: skip
_DIRECTION = {0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def message(told: Mapping[str, Any], language: str) -> tuple[str, str]:
    """Title and text of what Alertmanager's webhook told."""
    said = _SAID.get(language, _SAID["en"])
    alerts: list[Mapping[str, Any]] = list(told.get("alerts") or [])
    group: Mapping[str, str] = told.get("groupLabels") or {}
    counts = [
        f"{said[state]} {count}"
        for state in ("firing", "resolved")
        if (count := sum(one.get("status") == state for one in alerts))
    ]
    title = "Clusterwright {}: {} ({})".format(
        plain(group.get("cluster", "")), plain(group.get("incident", "")), ", ".join(counts),
    )  # fmt: skip
    lines = [_lines(one, said) for one in alerts[:MOST_ALERTS]]
    if len(alerts) > MOST_ALERTS:
        lines.append(said["more"].format(len(alerts) - MOST_ALERTS))
    return title, "\n\n".join(lines)


def _lines(one: Mapping[str, Any], said: dict[str, str]) -> str:
    labels: Mapping[str, str] = one.get("labels") or {}
    words: Mapping[str, str] = one.get("annotations") or {}
    over = one.get("status") == "resolved"
    level = said["resolved"] if over else said.get(labels.get("severity", ""), "")
    found = ["[{}] {}".format(level, plain(words.get("summary") or labels.get("alertname", "")))]
    if not over:
        found += [plain(words.get("description", ""))] if words.get("description") else []
        found += [said["mend"] + plain(words["mend"])] if words.get("mend") else []
        found += [said["page"] + plain(words["runbook_url"])] if words.get("runbook_url") else []
    return "\n".join(found)


def plain(text: str) -> str:
    """Names of jobs and runs are strangers' text: no control and no direction marks, and nobody is called by an @."""
    kept = "".join(" " if ord(letter) < 32 else letter for letter in str(text))
    return "".join(x for x in kept if ord(x) != 127 and ord(x) not in _DIRECTION).replace("@", "＠")


def cut(text: str, most: int) -> str:
    """At most so many bytes, whole letters, and dots where something is missing."""
    data = text.encode()
    return text if len(data) <= most else data[: most - 3].decode(errors="ignore") + "…"
