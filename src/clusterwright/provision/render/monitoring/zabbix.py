"""The template that a Zabbix server of 6.0 or later imports: an item and a trigger for each alert, and metrics.

The value of an alert's item is text that our notifier sends: PROBLEM or OK, the alert's fingerprint, and texts for the
user, one per line. Each firing alert opens a problem, which an OK value with the same fingerprint closes.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from clusterwright.catalog.watch.alert import Alert, Severity, alerts
from clusterwright.catalog.watch.figure import LABELS, MonitoredFigure, Scope, figures
from clusterwright.i18n import Lang, _, current_language, in_language

TEMPLATE, GROUP = "Clusterwright", "Templates/Clusterwright"
SENDERS = "{$CLUSTERWRIGHT.SENDERS}"
ALIVE, NODATA_TIMEOUT = "clusterwright.alive", "5m"
FIRING, OVER = "PROBLEM", "OK"
# The lines of a value in order; onhost/notify/zabbix/site.py writes them.
FINGERPRINT, NODE, INCIDENT, SUMMARY, FIX = 1, 2, 3, 4, 6
_PRIORITY: dict[Severity, str] = {"critical": "HIGH", "warning": "WARNING", "info": "INFO"}
_MOST_NAME = 255

Json = dict[str, Any]


def zabbix_template(language: Lang, pages: str) -> str:
    """Return the template for Data collection > Templates > Import.

    Both languages have equal UUIDs, so either replaces the other.
    """
    with in_language(language):
        return _template(pages)


def _template(pages: str) -> str:
    senders = _(
        "Addresses of the cluster's control host, separated by commas: values from elsewhere are refused."
    )
    template: Json = {
        "uuid": uuid("template", TEMPLATE),
        "template": TEMPLATE,
        "name": TEMPLATE,
        "description": _(
            "Clusterwright sends alerts and figures of a GPU cluster to this host, as a trapper."
        ),
        "groups": [{"name": GROUP}],
        "items": [
            _alive(),
            *(_alert(alert, pages) for alert in template_alerts()),
            *(_level_item(level) for level in _PRIORITY),
        ],
        "discovery_rules": [_rows(scope) for scope in LABELS],
        "macros": [{"macro": SENDERS, "value": "127.0.0.1", "description": senders}],
        "valuemaps": [_up_and_down()],
    }
    groups = [{"uuid": uuid("group", GROUP), "name": GROUP}]
    document = {"zabbix_export": {"version": "6.0", "groups": groups, "templates": [template]}}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def template_alerts() -> tuple[Alert, ...]:
    """Return the alerts of the Zabbix template: those that notify someone."""
    return tuple(alert for alert in alerts() if alert.severity in _PRIORITY)


def template_figures() -> list[Json]:
    """Return key, PromQL expression and labels of each metric of the template.

    onhost/notify/zabbix/figures sends their values.
    """
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
    """Return a stable UUID in the form that Zabbix requires: 32 digits, version 4."""
    digits = hashlib.sha256(f"clusterwright {kind} {name}".encode()).hexdigest()[:32]
    return f"{digits[:12]}4{digits[13:16]}a{digits[17:]}"


def alert_key(name: str) -> str:
    """Return the key of the Zabbix item that an alert sets."""
    return f"clusterwright.alert[{name}]"


def other_key(level: Severity) -> str:
    """Return the key of the Zabbix item of a severity; alerts without an item of their own in our template share it."""
    return f"clusterwright.other[{level}]"


def _alert(alert: Alert, pages: str) -> Json:
    text = alert.text.translated()
    suffix = ".zh-CN" if current_language() == "zh" else ""
    page_url = f"{pages.rstrip('/')}/{alert.component}{suffix}.md#{alert.name.lower()}"
    about = "\n\n".join(
        (
            _replace_placeholders(text.description),
            f"{_('What to do')}: {_replace_placeholders(text.fix)}",
            f"{_('Page')}: {page_url}",
        )
    )
    name = f"{alert.name}: {_replace_placeholders(text.summary)}"[:_MOST_NAME]
    item = _text_item(alert_key(alert.name), name, about)
    trigger = _trigger(item["key"], name, about, _PRIORITY[alert.severity])
    trigger["tags"] += [{"tag": "alert", "value": alert.name}, {"tag": "component", "value": alert.component}]
    if page_url.startswith("http") and len(page_url) <= _MOST_NAME:
        trigger["url"] = page_url
    return item | {"triggers": [trigger]}


def _level_item(level: Severity) -> Json:
    name = _("Alert of the site's own rules, or of monitoring itself") + f" ({level})"
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
    """Return a trigger: each problem value opens a problem; one with the same fingerprint closes it."""
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
    """Return the Zabbix macro that extracts a line of an alert item's value."""
    return f'{{{{ITEM.VALUE}}.regsub("^(?:[^\\n]*\\n){{{number}}}([^\\n]*)", "\\1")}}'


def _alive() -> Json:
    item_path = f"/{TEMPLATE}/{ALIVE}"
    trigger = {
        "uuid": uuid("trigger", ALIVE),
        "name": _("Clusterwright: monitoring of {HOST.NAME} is silent, and no alert can arrive"),
        "description": _(
            "No value has arrived for five minutes, or Prometheus and Alertmanager do not respond."
            " On the control host: systemctl status clusterwright-notify prometheus prometheus-alertmanager."
        ),
        "priority": "HIGH",
        "expression": f"nodata({item_path},{NODATA_TIMEOUT})=1 or last({item_path})=0",
    }
    return _item(ALIVE, _("Monitoring of the cluster is alive")) | {"triggers": [trigger]}


def _rows(scope: Scope) -> Json:
    key = _rule(scope)
    return {
        "uuid": uuid("rows", key),
        "name": _("Hosts") if scope == "node" else _("GPUs"),
        "type": "TRAP",
        "key": key,
        "delay": "0",
        "allowed_hosts": SENDERS,
        "lifetime": "7d",
        "item_prototypes": [_figure(figure) for figure in figures() if figure.of == scope],
    }


def _rule(scope: Scope) -> str:
    return f"clusterwright.{scope}s"


def _figure(figure: MonitoredFigure) -> Json:
    key = f"{figure.key}[{','.join(f'{{#{label.upper()}}}' for label in LABELS[figure.of])}]"
    item = _item(key, _(figure.name)) | {
        "value_type": "FLOAT",
        "units": figure.unit,
    }
    item["tags"] = [*item["tags"], {"tag": "node", "value": "{#NODE}"}]
    return item if figure.unit else item | {"valuemap": {"name": _MAP}}


_MAP = "Clusterwright up"


def _up_and_down() -> Json:
    rows = [{"value": "0", "newvalue": _("down")}, {"value": "1", "newvalue": _("up")}]
    return {"uuid": uuid("valuemap", _MAP), "name": _MAP, "mappings": rows}


def _replace_placeholders(text: str) -> str:
    """Return a text with `{{ $labels.node }}` as `<node>`, shown before anything happens."""
    return re.sub(r"\{\{\s*\$(?:labels\.)?(\w+)[^}]*\}\}", r"<\1>", text)
