"""The pages that alerts point at: one for each component and language."""

from __future__ import annotations

from typing import get_args

from clusterwright.catalog.watch.alert import Alert, Component, Language, alerts

_SUFFIX: dict[Language, str] = {"en": ".md", "zh": ".zh-CN.md"}
_LABELS = {
    "en": {
        "title": "Alerts", "about": "What Prometheus tells of a cluster, by component.", "alerts": "alerts",
        "severity": "Severity", "means": "What it means", "fix": "What to do", "when": "Fires when",
        "wait": "for", "muted": "Mute while", "of the same": "of the same", "at once": "at once",
        "critical": "critical (page)", "warning": "warning (ticket)", "info": "info (note)", "none": "none (nobody)",
    },
    "zh": {
        "title": "告警", "about": "Prometheus 对集群发出的告警，按组件排列。", "alerts": "条告警",
        "severity": "级别", "means": "含义", "fix": "处理", "when": "触发条件",
        "wait": "持续", "muted": "静默条件", "of the same": "相同", "at once": "立即",
        "critical": "严重（呼叫）", "warning": "警告（工单）", "info": "提示", "none": "无（不通知）",
    },
}  # fmt: skip
_COMPONENTS = {
    "en": {
        "gpu": "GPUs", "fabric": "Fabric and links", "host": "Hosts", "storage": "Storage", "slurm": "Slurm",
        "job": "Jobs and trainings", "monitoring": "Monitoring itself",
    },
    "zh": {
        "gpu": "GPU", "fabric": "网络与链路", "host": "节点", "storage": "存储", "slurm": "Slurm",
        "job": "作业与训练", "monitoring": "监控自身",
    },
}  # fmt: skip


def alert_pages() -> dict[str, str]:
    """Text by name of file, with an index in each language."""
    texts = {}
    for language, suffix in _SUFFIX.items():
        by = {
            component: [alert for alert in alerts() if alert.component == component]
            for component in get_args(Component)
        }
        texts[f"index{suffix}"] = _index(by, language)
        texts |= {f"{name}{suffix}": _render_page(name, rows, language) for name, rows in by.items()}
    return texts


def _index(by: dict[Component, list[Alert]], language: Language) -> str:
    labels, suffix = _LABELS[language], _SUFFIX[language]
    lines = [f"# {labels['title']}", "", labels["about"], ""]
    for name, rows in by.items():
        lines.append(f"## [{_COMPONENTS[language][name]}]({name}{suffix})")
        lines += ["", f"{len(rows)} {labels['alerts']}", ""]
        lines += [f"- [{alert.name}]({name}{suffix}#{alert.name.lower()})" for alert in rows] + [""]
    return "\n".join(lines).rstrip() + "\n"


def _render_page(name: Component, rows: list[Alert], language: Language) -> str:
    parts = [f"# {_COMPONENTS[language][name]}", *(_alert(alert, language) for alert in rows)]
    return "\n\n".join(parts) + "\n"


def _alert(alert: Alert, language: Language) -> str:
    text, labels = alert.texts[language], _LABELS[language]
    wait = f", {labels['wait']} {alert.wait}" if alert.wait != "0s" else f", {labels['at once']}"
    lines = [
        f"## {alert.name}",
        "",
        f"`{text.summary}`",
        "",
        f"- **{labels['severity']}**: {labels[alert.severity]}{wait}",
        f"- **{labels['means']}**: {text.description}",
        f"- **{labels['fix']}**: {text.fix}",
    ]
    if alert.muted_by:
        mutes = [_mute(source, equal, labels["of the same"]) for source, equal in alert.muted_by.items()]
        lines.append(f"- **{labels['muted']}**: {', '.join(mutes)}")
    return "\n".join([*lines, "", f"{labels['when']}:", "", "```text", alert.expression, "```"])


def _mute(source: str, equal: tuple[str, ...], of_the_same: str) -> str:
    return f"{source} ({of_the_same} {', '.join(equal)})" if equal else source
