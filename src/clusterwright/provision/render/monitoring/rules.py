"""Prometheus's rules, and promtool's tests of them, from the alerts' own files.

What is written is JSON, which is YAML as well: nothing in an expression or in Chinese can be misread.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clusterwright.catalog.watch.alert import STEP_S, Alert, Case, Language, alerts, recordings

EVERY, SELDOM = "5s", "30s"
_INCIDENTS = {
    "node": "node {{ $labels.node }}", "job": "job {{ $labels.job }}", "run": "run {{ $labels.run }}",
    "storage": "storage", "slurm": "slurm", "hosts": "hosts", "monitoring": "monitoring",
}  # fmt: skip
_DASHBOARDS = {"host": "node", "monitoring": "cluster"}  # the others have a component's own name

Json = dict[str, Any]


def rules(language: Language, pages: str = "docs/reference/alerts") -> str:
    """What `prometheus.yml` names as its rule file; `pages` is where the alerts' pages lie."""
    quick: list[Json] = [_record(one.record, one.expression) for one in recordings() if not one.slow]
    told = [_alert(one, _annotations(one, language, pages)) for one in alerts()]
    slow = [_record(one.record, one.expression) for one in recordings() if one.slow]
    return _text({"groups": [_group("alerts", EVERY, quick + told), _group("sums", SELDOM, slow)]})


def case_files(one: Alert) -> dict[str, str]:
    """What `promtool test rules` takes for one alert: its test, and the alert without what people read.

    promtool compares all of an alert, word by word; and it works out every rule at every step, so each is alone.
    """
    rows = _group("alerts", f"{STEP_S}s", [_alert(one, {})])
    tests = [_test(one, case) for case in one.cases]
    test = {"rule_files": [f"{one.name}.rules"], "evaluation_interval": f"{STEP_S}s", "tests": tests}
    return {f"{one.name}.rules": _text({"groups": [rows]}), f"{one.name}.test": _text(test)}


def _text(document: Json) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _group(name: str, every: str, rows: list[Json]) -> Json:
    return {"name": f"clusterwright {name}", "interval": every, "rules": rows}


def _record(name: str, expression: str) -> Json:
    return {"record": name, "expr": expression}


def _alert(one: Alert, annotations: Mapping[str, str]) -> Json:
    found: Json = {"alert": one.name, "expr": one.expression}
    if one.wait != "0s":
        found["for"] = one.wait
    found["labels"] = {
        "severity": one.severity,
        "component": one.component,
        "incident": _INCIDENTS[one.incident],
    }
    return found | ({"annotations": dict(annotations)} if annotations else {})


def _annotations(one: Alert, language: Language, pages: str) -> dict[str, str]:
    words = one.words[language]
    end = ".zh-CN.md" if language == "zh" else ".md"
    return {
        "summary": words.summary,
        "description": words.description,
        "mend": words.mend,
        "runbook_url": f"{pages.rstrip('/')}/{one.component}{end}#{one.name.lower()}",
        "dashboard": f"clusterwright-{_DASHBOARDS.get(one.component, one.component)}",
    }


def _test(one: Alert, case: Case) -> Json:
    labels = [_expected(one, found) for found in case.fires]
    return {
        "interval": f"{STEP_S}s",
        "name": one.name,
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [
            {
                "eval_time": case.at,
                "alertname": one.name,
                "exp_alerts": [{"exp_labels": each} for each in labels],
            }
        ],
    }


def _expected(one: Alert, found: Mapping[str, str]) -> dict[str, str]:
    incident = _INCIDENTS[one.incident]
    for name in ("node", "job", "run"):
        incident = incident.replace(f"{{{{ $labels.{name} }}}}", found.get(name, ""))
    return {**found, "severity": one.severity, "component": one.component, "incident": incident}
