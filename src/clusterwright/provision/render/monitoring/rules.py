"""Prometheus's rules, and promtool's tests of them, from the files of the alerts (catalog/watch).

The output is JSON, which is also YAML, so no expression and no Chinese text needs YAML's quoting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clusterwright.catalog.watch.alert import STEP_S, Alert, Case, Slope, alerts, recordings
from clusterwright.i18n import Lang, in_language

EVERY, SELDOM = "5s", "30s"
SLOPE = "{{ $slope }}"
_INCIDENTS = {
    "node": "node {{ $labels.node }}", "job": "job {{ $labels.job }}", "run": "run {{ $labels.run }}",
    "storage": "storage", "slurm": "slurm", "hosts": "hosts", "monitoring": "monitoring",
}  # fmt: skip
_DASHBOARDS = {"host": "node", "monitoring": "cluster"}  # other dashboards have the component's name

Json = dict[str, Any]


def rules(language: Lang, pages: str = "docs/reference/alerts") -> str:
    """Return the rule file; `pages` is the base URL of the alert pages."""
    quick: list[Json] = [
        _record(recording.record, recording.expression) for recording in recordings() if not recording.slow
    ]
    alert_rules = [_alert(alert, _annotations(alert, language, pages)) for alert in alerts()]
    slow = [_record(recording.record, recording.expression) for recording in recordings() if recording.slow]
    return _text({"groups": [_group("alerts", EVERY, quick + alert_rules), _group("sums", SELDOM, slow)]})


def case_files(alert: Alert) -> dict[str, str]:
    """Return the input of `promtool test rules` for one alert: its test, and its rule without human-readable text.

    promtool compares all texts of an alert, and evaluates every rule at every step, so each alert has its own
    files.
    """
    rows = _group("alerts", f"{STEP_S}s", [_alert(alert, {})])
    tests = [_test(alert, case) for case in alert.cases]
    test = {"rule_files": [f"{alert.name}.rules"], "evaluation_interval": f"{STEP_S}s", "tests": tests}
    return {f"{alert.name}.rules": _text({"groups": [rows]}), f"{alert.name}.test": _text(test)}


def _text(document: Json) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _group(name: str, every: str, rows: list[Json]) -> Json:
    return {"name": f"clusterwright {name}", "interval": every, "rules": rows}


def _record(name: str, expression: str) -> Json:
    return {"record": name, "expr": expression}


def _alert(alert: Alert, annotations: Mapping[str, str]) -> Json:
    rule: Json = {"alert": alert.name, "expr": alert.expression}
    if alert.wait != "0s":
        rule["for"] = alert.wait
    rule["labels"] = {
        "severity": alert.severity,
        "component": alert.component,
        "incident": _INCIDENTS[alert.incident],
    }
    return rule | ({"annotations": dict(annotations)} if annotations else {})


def _annotations(alert: Alert, language: Lang, pages: str) -> dict[str, str]:
    with in_language(language):
        text = alert.text.translated()
    end = ".zh-CN.md" if language == "zh" else ".md"
    return {
        "summary": text.summary,
        "description": text.description.replace(SLOPE, _slope(alert.slope))
        if alert.slope
        else text.description,
        "fix": text.fix,
        "runbook_url": f"{pages.rstrip('/')}/{alert.component}{end}#{alert.name.lower()}",
        "dashboard": f"clusterwright-{_DASHBOARDS.get(alert.component, alert.component)}",
    }


def _slope(slope: Slope) -> str:
    """Return the Prometheus template that queries the change of the alert's own series."""
    selector = ",".join(f"{label}=%q" for label in slope.labels)
    values = " ".join(f"$labels.{label}" for label in slope.labels)
    window = f"{slope.metric}{{{selector}}}[{slope.window}]"
    change = f"deriv({window}) * 3600" if slope.per_hour else f"delta({window})"
    query = f'printf "{change}" {values} | query'
    return f"{{{{ with {query} }}}}{{{{ . | first | value | {slope.format} }}}}{{{{ else }}}}?{{{{ end }}}}"


def _test(alert: Alert, case: Case) -> Json:
    labels = [_expected(alert, fired_labels) for fired_labels in case.fires]
    return {
        "interval": f"{STEP_S}s",
        "name": alert.name,
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [
            {
                "eval_time": case.at,
                "alertname": alert.name,
                "exp_alerts": [{"exp_labels": label_set} for label_set in labels],
            }
        ],
    }


def _expected(alert: Alert, fired_labels: Mapping[str, str]) -> dict[str, str]:
    incident = _INCIDENTS[alert.incident]
    for name in ("node", "job", "run"):
        incident = incident.replace(f"{{{{ $labels.{name} }}}}", fired_labels.get(name, ""))
    return {**fired_labels, "severity": alert.severity, "component": alert.component, "incident": incident}
