"""What a picture lacks: a part of it and why, in English as gathered, and in Chinese."""

from __future__ import annotations

PARTS = {
    "jobs": ("the queue", "作业队列"),
    "nodes": ("the nodes", "节点"),
    "shares": ("what teams have used", "团队用量"),
    "measures": ("what GPUs do", "GPU 状况"),
    "alerts": ("alerts", "告警"),
    "runs": ("runs", "训练"),
}
_REASONS = {
    "Prometheus is not set up (`monitoring.prometheus` in the cluster file)":
        "未配置 Prometheus (集群文件中的 `monitoring.prometheus`)",
    "accounting is off (`accounting.enabled` in the cluster file)":
        "未启用记账 (集群文件中的 `accounting.enabled`)",
}  # fmt: skip
NO_PROMETHEUS, NO_ACCOUNTING = _REASONS


def lack(part: str, reason: str) -> str:
    """The line that a picture holds."""
    return f"{PARTS[part][0]}: {reason}"


def lacks(line: str, lang: str = "en") -> str:
    """Such a line in the language; a program's own words stay as they are."""
    if lang != "zh":
        return line
    part, _, reason = line.partition(": ")
    named = next((zh for en, zh in PARTS.values() if en == part), part)
    return f"{named}: {_REASONS.get(reason, reason)}" if reason else line
