"""The template that a Zabbix server of 6.0 or later imports: an item and a trigger for each alert, and figures.

An alert's item is text that our program sends: a word, the alert's fingerprint, and what a person reads, a line each.
Each that fires is a problem of its own, and is closed by the value that has the same fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from clusterwright.catalog.watch.alert import Alert, Language, Severity, alerts
from clusterwright.catalog.watch.figure import LABELS, Figure, Scope, figures

TEMPLATE, GROUP = "Clusterwright", "Templates/Clusterwright"
SENDERS = "{$CLUSTERWRIGHT.SENDERS}"
ALIVE, NODATA_TIMEOUT = "clusterwright.alive", "5m"
FIRING, OVER = "PROBLEM", "OK"
# A value's lines, from the first; onhost/notify/zabbix/site.py writes them.
FINGERPRINT, NODE, INCIDENT, SUMMARY, FIX = 1, 2, 3, 4, 6
_PRIORITY: dict[Severity, str] = {"critical": "HIGH", "warning": "WARNING", "info": "INFO"}
_MOST_NAME = 255
_MESSAGES = {
    "en": {
        "about": "Clusterwright sends alerts and figures of a GPU cluster to this host, as a trapper.",
        "senders": "Addresses of the cluster's control host, by commas: nobody else may send.",
        "alive": "Monitoring of the cluster is alive",
        "silent": "Clusterwright: monitoring of {HOST.NAME} is silent, and no alert can come",
        "silent about": "Nothing has come for five minutes, or Prometheus and Alertmanager do not answer."
        " On the control host: systemctl status clusterwright-notify prometheus prometheus-alertmanager.",
        "other": "Alert of the site's own rules, or of monitoring itself",
        "node": "Hosts", "gpu": "GPUs", "fix": "What to do", "page": "Page", "up": "up", "down": "down",
    },
    "zh": {
        "about": "Clusterwright 以 trapper 方式把 GPU 集群的告警和数值发送到这台主机。",
        "senders": "集群控制节点的地址，用逗号分隔：其他来源一律拒绝。",
        "alive": "集群的监控在正常工作",
        "silent": "Clusterwright：{HOST.NAME} 的监控没有声音，不会再有告警",
        "silent about": "五分钟没有收到任何数据，或 Prometheus 与 Alertmanager 没有响应。"
        "在控制节点上：systemctl status clusterwright-notify prometheus prometheus-alertmanager。",
        "other": "站点自有规则或监控自身的告警",
        "node": "节点", "gpu": "GPU", "fix": "处理", "page": "详情", "up": "正常", "down": "宕机",
    },
}  # fmt: skip

Json = dict[str, Any]


def zabbix_template(language: Language, pages: str) -> str:
    """A file for Data collection, Templates, Import; the same uuids in both languages, so either replaces the other."""
    messages = _MESSAGES[language]
    template: Json = {
        "uuid": uuid("template", TEMPLATE),
        "template": TEMPLATE,
        "name": TEMPLATE,
        "description": messages["about"],
        "groups": [{"name": GROUP}],
        "items": [
            _alive(messages),
            *(_alert(alert, language, pages) for alert in template_alerts()),
            *(_level_item(level, messages) for level in _PRIORITY),
        ],
        "discovery_rules": [_rows(scope, language) for scope in LABELS],
        "macros": [{"macro": SENDERS, "value": "127.0.0.1", "description": messages["senders"]}],
        "valuemaps": [_up_and_down(messages)],
    }
    groups = [{"uuid": uuid("group", GROUP), "name": GROUP}]
    document = {"zabbix_export": {"version": "6.0", "groups": groups, "templates": [template]}}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def template_alerts() -> tuple[Alert, ...]:
    """Those of the template: of which anybody is told."""
    return tuple(alert for alert in alerts() if alert.severity in _PRIORITY)


def template_figures() -> list[Json]:
    """As onhost/notify/zabbix/figures reads them."""
    return [
        {
            "key": figure.key,
            "expression": figure.expression,
            "labels": list(LABELS[figure.of]),
            "rows": _rule(figure.of),
        }
        for figure in figures()
    ]


def uuid(kind: str, name: str) -> str:
    """The same for the same thing for ever, in the form that Zabbix wants: 32 digits, as of version 4."""
    digits = hashlib.sha256(f"clusterwright {kind} {name}".encode()).hexdigest()[:32]
    return f"{digits[:12]}4{digits[13:16]}a{digits[17:]}"


def alert_key(name: str) -> str:
    """The item of an alert."""
    return f"clusterwright.alert[{name}]"


def other_key(level: Severity) -> str:
    """The item of alerts that the template does not know."""
    return f"clusterwright.other[{level}]"


def _alert(alert: Alert, language: Language, pages: str) -> Json:
    text, messages = alert.texts[language], _MESSAGES[language]
    page_url = (
        f"{pages.rstrip('/')}/{alert.component}{'.zh-CN' if language == 'zh' else ''}.md#{alert.name.lower()}"
    )
    about = "\n\n".join(
        (
            _replace_placeholders(text.description),
            f"{messages['fix']}: {_replace_placeholders(text.fix)}",
            f"{messages['page']}: {page_url}",
        )
    )
    name = f"{alert.name}: {_replace_placeholders(text.summary)}"[:_MOST_NAME]
    item = _text_item(alert_key(alert.name), name, about)
    trigger = _trigger(item["key"], name, about, _PRIORITY[alert.severity])
    trigger["tags"] += [{"tag": "alert", "value": alert.name}, {"tag": "component", "value": alert.component}]
    if page_url.startswith("http") and len(page_url) <= _MOST_NAME:
        trigger["url"] = page_url
    return item | {"triggers": [trigger]}


def _level_item(level: Severity, messages: dict[str, str]) -> Json:
    name = f"{messages['other']} ({level})"
    item = _text_item(other_key(level), name, name)
    return item | {"triggers": [_trigger(item["key"], name, name, _PRIORITY[level])]}


def _text_item(key: str, name: str, about: str) -> Json:
    return _item(key, name) | {"trends": "0", "value_type": "TEXT", "description": about}


def _item(key: str, name: str) -> Json:
    return {
        "uuid": uuid("item", key),
        "name": name,
        "type": "TRAP",
        "key": key,
        "delay": "0",
        "allowed_hosts": SENDERS,
        "tags": [{"tag": "application", "value": "Clusterwright"}],
    }


def _trigger(key: str, name: str, about: str, priority: str) -> Json:
    """Each value that says so is a problem; a problem ends with the value of its own fingerprint."""
    return {
        "uuid": uuid("trigger", key),
        "name": name,
        "description": about,
        "priority": priority,
        "type": "MULTIPLE",
        "expression": _match_expression(key, FIRING),
        "recovery_mode": "RECOVERY_EXPRESSION",
        "recovery_expression": _match_expression(key, OVER),
        "correlation_mode": "TAG_VALUE",
        "correlation_tag": "fingerprint",
        "manual_close": "YES",
        "event_name": _line(SUMMARY),
        "opdata": _line(FIX),
        "tags": [
            {"tag": "fingerprint", "value": _line(FINGERPRINT)},
            {"tag": "node", "value": _line(NODE)},
            {"tag": "incident", "value": _line(INCIDENT)},
        ],
    }


def _match_expression(key: str, value: str) -> str:
    return f'find(/{TEMPLATE}/{key},,"regexp","^{value}")=1'


def _line(number: int) -> str:
    """A line of the value, as a macro of Zabbix's."""
    return f'{{{{ITEM.VALUE}}.regsub("^(?:[^\\n]*\\n){{{number}}}([^\\n]*)", "\\1")}}'


def _alive(messages: dict[str, str]) -> Json:
    item_path = f"/{TEMPLATE}/{ALIVE}"
    trigger = {
        "uuid": uuid("trigger", ALIVE),
        "name": messages["silent"],
        "description": messages["silent about"],
        "priority": "HIGH",
        "expression": f"nodata({item_path},{NODATA_TIMEOUT})=1 or last({item_path})=0",
    }
    return _item(ALIVE, messages["alive"]) | {"triggers": [trigger]}


def _rows(scope: Scope, language: Language) -> Json:
    key = _rule(scope)
    return {
        "uuid": uuid("rows", key),
        "name": _MESSAGES[language][scope],
        "type": "TRAP",
        "key": key,
        "delay": "0",
        "allowed_hosts": SENDERS,
        "lifetime": "7d",
        "item_prototypes": [_figure(figure, language) for figure in figures() if figure.of == scope],
    }


def _rule(scope: Scope) -> str:
    return f"clusterwright.{scope}s"


def _figure(figure: Figure, language: Language) -> Json:
    key = f"{figure.key}[{','.join(f'{{#{label.upper()}}}' for label in LABELS[figure.of])}]"
    item = _item(key, figure.zh if language == "zh" else figure.en) | {
        "value_type": "FLOAT",
        "units": figure.unit,
    }
    item["tags"] = [*item["tags"], {"tag": "node", "value": "{#NODE}"}]
    return item if figure.unit else item | {"valuemap": {"name": _MAP}}


_MAP = "Clusterwright up"


def _up_and_down(messages: dict[str, str]) -> Json:
    rows = [{"value": "0", "newvalue": messages["down"]}, {"value": "1", "newvalue": messages["up"]}]
    return {"uuid": uuid("valuemap", _MAP), "name": _MAP, "mappings": rows}


def _replace_placeholders(text: str) -> str:
    """`{{ $labels.node }}` is `<node>` where nothing has happened yet."""
    return re.sub(r"\{\{\s*\$(?:labels\.)?(\w+)[^}]*\}\}", r"<\1>", text)
