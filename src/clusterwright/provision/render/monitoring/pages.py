"""The runbook pages of alerts: one for each component and language."""

from __future__ import annotations

from typing import get_args

from clusterwright.catalog.watch.alert import Alert, Component, alerts
from clusterwright.i18n import N_, Lang, _, _n, in_language

_SUFFIX: dict[Lang, str] = {"en": ".md", "zh": ".zh-CN.md"}
_SEVERITIES = {
    "critical": N_("critical (page)"), "warning": N_("warning (ticket)"), "info": N_("info (note)"),
    "none": N_("none (nobody)"),
}  # fmt: skip
_COMPONENTS = {
    "gpu": N_("GPUs"), "fabric": N_("Fabric and links"), "host": N_("Hosts"), "storage": N_("Storage"),
    "slurm": "Slurm", "job": N_("Jobs and trainings"), "monitoring": N_("Monitoring itself"),
}  # fmt: skip


def alert_pages() -> dict[str, str]:
    """Return the text of each alert page by file name, with an index in each language."""
    texts = {}
    for language, suffix in _SUFFIX.items():
        by = {
            component: [alert for alert in alerts() if alert.component == component]
            for component in get_args(Component)
        }
        with in_language(language):
            texts[f"index{suffix}"] = _index(by, suffix)
            texts |= {f"{name}{suffix}": _render_page(name, rows) for name, rows in by.items()}
    return texts


def _index(by: dict[Component, list[Alert]], suffix: str) -> str:
    lines = [f"# {_('Alerts')}", "", _("The alerts that Prometheus raises for a cluster, by component."), ""]
    for name, rows in by.items():
        lines.append(f"## [{_(_COMPONENTS[name])}]({name}{suffix})")
        lines += ["", _n("{count} alert", "{count} alerts", len(rows)), ""]
        lines += [f"- [{alert.name}]({name}{suffix}#{alert.name.lower()})" for alert in rows] + [""]
    return "\n".join(lines).rstrip() + "\n"


def _render_page(name: Component, rows: list[Alert]) -> str:
    return "\n\n".join([f"# {_(_COMPONENTS[name])}", *map(_alert, rows)]) + "\n"


def _alert(alert: Alert) -> str:
    text, severity = alert.text.translated(), _(_SEVERITIES[alert.severity])
    wait = _("at once") if alert.wait == "0s" else _("for {duration}", duration=alert.wait)
    lines = [
        f"## {alert.name}",
        "",
        f"`{text.summary}`",
        "",
        f"- **{_('Severity')}**: {severity}, {wait}",
        f"- **{_('What the alert means')}**: {text.description}",
        f"- **{_('What to do')}**: {text.fix}",
    ]
    if alert.muted_by:
        mutes = [_mute(source, equal) for source, equal in alert.muted_by.items()]
        lines.append(f"- **{_('Mute while')}**: {', '.join(mutes)}")
    return "\n".join([*lines, "", f"{_('Fires when')}:", "", "```text", alert.expression, "```"])


def _mute(source: str, equal: tuple[str, ...]) -> str:
    if not equal:
        return source
    return _("{alert} (of the same {labels})", alert=source, labels=", ".join(equal))
