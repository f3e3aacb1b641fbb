"""Grafana dashboards as JSON, for provisioning and for import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from clusterwright.catalog.watch.dashboard import Dashboard, Panel, Query, Variable, dashboards
from clusterwright.i18n import bilingual

SCHEMA = 36  # of Grafana 9.0, the oldest that is meant; newer ones bring it up to theirs when they read it
COLUMNS = 24
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLORS = ("green", "yellow", "red")

Json = dict[str, Any]


def dashboard_files() -> dict[str, str]:
    """Return the JSON text of each dashboard by file name."""
    return {
        f"{board.uid}.json": json.dumps(dashboard(board), ensure_ascii=False, indent=1) + "\n"
        for board in dashboards()
    }


def dashboard(board: Dashboard) -> Json:
    """Return a dashboard with null `id`, so that Grafana assigns one."""
    return {
        "id": None,
        "uid": board.uid,
        "title": f"Clusterwright: {_in_both_languages(board.title)}",
        "tags": ["clusterwright", "slurm", "gpu"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "graphTooltip": 1,
        "templating": {"list": [_source(), *map(_variable, board.variables)]},
        "annotations": {"list": [_alerts()]},
        "links": [_links()],
        "panels": list(_panels(board.panels)),
    }


def _in_both_languages(title: str) -> str:
    """Return the title in both languages, or once if they are equal."""
    return " · ".join(dict.fromkeys(bilingual(title)))


def _source() -> Json:
    """Return the variable by which the user selects Prometheus; a fixed data source would not exist at other sites."""
    return {
        "name": "datasource",
        "type": "datasource",
        "query": "prometheus",
        "label": "Prometheus",
        "hide": 0,
        "refresh": 1,
        "regex": "",
        "multi": False,
        "includeAll": False,
    }


def _variable(variable: Variable) -> Json:
    question = f"label_values({variable.series}, {variable.label})"
    return {
        "name": variable.name,
        "label": _in_both_languages(variable.title),
        "type": "query",
        "datasource": _SOURCE,
        "hide": 0,
        "query": {"query": question, "refId": "A"},
        "refresh": 2,
        "sort": 7,
        "regex": "",
        "multi": variable.many,
        "includeAll": variable.many,
        "allValue": ".*" if variable.many else None,
    }


def _alerts() -> Json:
    """Return the annotation that marks critical alerts while they fire; users switch it on."""
    return {
        "name": _in_both_languages("Alerts"),
        "datasource": _SOURCE,
        "enable": False,
        "iconColor": "red",
        "expr": 'ALERTS{cluster="$cluster", alertstate="firing", severity="critical"}',
    }


def _links() -> Json:
    return {
        "type": "dashboards",
        "tags": ["clusterwright"],
        "title": "Clusterwright",
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "icon": "external link",
        "targetBlank": False,
        "tooltip": "",
        "url": "",
    }


def _panels(panels: tuple[Panel, ...]) -> Iterator[Json]:
    """Yield Grafana's panels with positions, from left to right, in a new row when one does not fit."""
    x = y = tallest = 0
    for number, panel in enumerate(panels, start=1):
        width, height = (COLUMNS, 1) if panel.kind == "row" else (panel.width, panel.height)
        if x + width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        yield _panel(panel) | {"id": number, "gridPos": {"x": x, "y": y, "w": width, "h": height}}
        x, tallest = x + width, max(tallest, height)


def _panel(panel: Panel) -> Json:
    head: Json = {"type": panel.kind, "title": _in_both_languages(panel.title)}
    if panel.kind == "row":
        return head | {"collapsed": False, "panels": []}
    about = "\n\n".join(bilingual(panel.about)) if panel.about else ""
    targets = [_target(panel, query, index) for index, query in enumerate(panel.queries)]
    return head | {
        "description": about,
        "datasource": _SOURCE,
        "targets": targets,
        "options": _options(panel),
        "fieldConfig": {"defaults": _field(panel), "overrides": []},
        "transformations": _columns(panel),
    }


def _target(panel: Panel, query: Query, index: int) -> Json:
    """Return a query: instant for tables and stat panels, a range for others."""
    now = panel.kind in ("table", "stat", "bargauge")
    return {
        "refId": chr(ord("A") + index),
        "datasource": _SOURCE,
        "expr": query.expression,
        "legendFormat": query.legend or "__auto",
        "instant": now,
        "range": not now,
        "format": "table" if panel.kind == "table" else "time_series",
    }


def _options(panel: Panel) -> Json:
    reduce = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    options: dict[str, Json] = {
        "timeseries": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "stat": {"reduceOptions": reduce, "colorMode": "value", "graphMode": "area"},
        "bargauge": {"reduceOptions": reduce, "orientation": "horizontal", "displayMode": "basic"},
        "heatmap": {"calculate": True, "color": {"scheme": "Oranges", "mode": "scheme"}},
        "table": {"showHeader": True, "cellHeight": "sm"},
    }
    return options[panel.kind]


def _field(panel: Panel) -> Json:
    field: Json = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": _steps(panel)}}
    if panel.kind == "timeseries":
        field["custom"] = {"lineWidth": 1, "fillOpacity": 10, "showPoints": "never", "spanNulls": False}
    if panel.unit == "percentunit":
        field |= {"min": 0, "max": 1}
    return field if panel.most is None else field | {"min": 0, "max": panel.most}


def _steps(panel: Panel) -> list[Json]:
    """Return the panel's color thresholds in Grafana's form; the first one has no lower bound."""
    thresholds = sorted(panel.marks)
    colors = _COLORS[: len(thresholds) + 1]
    if panel.descending:
        colors = tuple(reversed(_COLORS[: len(thresholds) + 1]))
    return [
        {"color": color, "value": value} for color, value in zip(colors, (None, *thresholds), strict=True)
    ]


def _columns(panel: Panel) -> list[Json]:
    """Return, in a list, the transformation that hides the time stamps of a table; empty for other panels."""
    if panel.kind != "table":
        return []
    hidden = {"Time": True, "__name__": True, "cluster": True, "job": False, "instance": True}
    return [{"id": "organize", "options": {"excludeByName": hidden}}]
