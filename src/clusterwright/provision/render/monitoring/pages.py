"""The pages that alerts point at: one for each component and language."""

from __future__ import annotations

from typing import get_args

from clusterwright.catalog.watch.alert import Alert, Component, Language, alerts

_SUFFIX: dict[Language, str] = {"en": ".md", "zh": ".zh-CN.md"}
_WORDS = {
    "en": {
        "title": "Alerts", "about": "What Prometheus tells of a cluster, by component.", "alerts": "alerts",
        "severity": "Severity", "means": "What it means", "mend": "What to do", "when": "Fires when",
        "wait": "for", "muted": "Mute while", "of the same": "of the same", "at once": "at once",
        "critical": "critical (page)", "warning": "warning (ticket)", "info": "info (note)", "none": "none (nobody)",
    },
    "zh": {
        "title": "告警", "about": "Prometheus 对集群发出的告警，按组件排列。", "alerts": "条告警",
        "severity": "级别", "means": "含义", "mend": "处理", "when": "触发条件",
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
    found = {}
    for language, suffix in _SUFFIX.items():
        by = {one: [each for each in alerts() if each.component == one] for one in get_args(Component)}
        found[f"index{suffix}"] = _index(by, language)
        found |= {f"{name}{suffix}": _page(name, rows, language) for name, rows in by.items()}
    return found


def _index(by: dict[Component, list[Alert]], language: Language) -> str:
    words, suffix = _WORDS[language], _SUFFIX[language]
    lines = [f"# {words['title']}", "", words["about"], ""]
    for name, rows in by.items():
        lines.append(f"## [{_COMPONENTS[language][name]}]({name}{suffix})")
        lines += ["", f"{len(rows)} {words['alerts']}", ""]
        lines += [f"- [{one.name}]({name}{suffix}#{one.name.lower()})" for one in rows] + [""]
    return "\n".join(lines).rstrip() + "\n"


def _page(name: Component, rows: list[Alert], language: Language) -> str:
    parts = [f"# {_COMPONENTS[language][name]}", *(_alert(one, language) for one in rows)]
    return "\n\n".join(parts) + "\n"


def _alert(one: Alert, language: Language) -> str:
    said, words = one.words[language], _WORDS[language]
    wait = f", {words['wait']} {one.wait}" if one.wait != "0s" else f", {words['at once']}"
    lines = [
        f"## {one.name}",
        "",
        f"`{said.summary}`",
        "",
        f"- **{words['severity']}**: {words[one.severity]}{wait}",
        f"- **{words['means']}**: {said.description}",
        f"- **{words['mend']}**: {said.mend}",
    ]
    if one.muted_by:
        mutes = [_mute(source, equal, words["of the same"]) for source, equal in one.muted_by.items()]
        lines.append(f"- **{words['muted']}**: {', '.join(mutes)}")
    return "\n".join([*lines, "", f"{words['when']}:", "", "```text", one.expression, "```"])


def _mute(source: str, equal: tuple[str, ...], of_the_same: str) -> str:
    return f"{source} ({of_the_same} {', '.join(equal)})" if equal else source
