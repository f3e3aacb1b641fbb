"""Alerts as data: `alerts/NAME.toml`, with their texts and tests."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from clusterwright.i18n import _

Severity = Literal["critical", "warning", "info", "none"]  # page, ticket, note; `none` notifies nobody
Component = Literal["gpu", "fabric", "host", "storage", "slurm", "job", "monitoring"]
Incident = Literal["node", "job", "run", "storage", "slurm", "hosts", "monitoring"]
STEP_S = 15  # interval of a test's series


@dataclass(frozen=True, slots=True)
class AlertText:
    """The texts of a notification; labels and values as in Prometheus templates."""

    summary: str
    description: str
    fix: str

    def translated(self) -> AlertText:
        """Return the texts in the current language."""
        return AlertText(_(self.summary), _(self.description), _(self.fix))


@dataclass(frozen=True, slots=True)
class Slope:
    """A metric whose change is `{{ $slope }}` in an alert's texts, and the labels that select its series.

    `per_hour`: the change is the slope of a line through all values of the window, in units per hour. Otherwise it is
    the last value of the window less its first, which is also right after a jump.
    """

    metric: str
    labels: tuple[str, ...]
    window: str = "1h"  # the time over which Prometheus computes the change
    per_hour: bool = True
    format: str = 'printf "%+.2f"'  # of the number, as a Prometheus template


@dataclass(frozen=True, slots=True)
class Case:
    """One test: input series (promtool's notation, one value each 15 s), evaluation time, and labels that fire."""

    series: Mapping[str, str]
    at: str
    fires: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. Notifications of one `incident` of one node, job or run are grouped."""

    name: str
    component: Component
    severity: Severity
    incident: Incident
    expression: str
    text: AlertText
    cases: tuple[Case, ...]
    muted_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # alert: labels that must be equal
    wait: str = "0s"  # how long the expression must be true
    always: bool = False  # always fires, as a sign that Prometheus works
    slope: Slope | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording rule; a slow one is evaluated every 30 s."""

    record: str
    expression: str
    slow: bool = False


@cache
def alerts() -> tuple[Alert, ...]:
    """Return all alerts, by component and name.

    Raises:
        ValueError: A file has an unknown key or value.
    """
    alert_files = (files("clusterwright.catalog.watch") / "alerts").iterdir()
    alert_list = [
        read(file.name[:-5], file.read_text(encoding="utf-8"))
        for file in alert_files
        if file.name.endswith(".toml")
    ]
    order = get_args(Component)
    return tuple(sorted(alert_list, key=lambda alert: (order.index(alert.component), alert.name)))


def read(name: str, text: str) -> Alert:
    """Return an alert, parsed from the TOML text of its file; `for` defaults to 0 s.

    Raises:
        ValueError: it has an unknown or missing key, or an unknown component, severity or incident.
    """
    rows = tomllib.loads(text)
    try:
        alert_text = AlertText(**rows.pop("text"))
        cases = tuple(_case(row) for row in rows.pop("test"))
        slope = _slope(rows.pop("slope")) if "slope" in rows else None
        alert = Alert(
            name=name, text=alert_text, cases=cases, wait=rows.pop("for", "0s"),
            expression=rows.pop("expression").strip(), slope=slope, **rows,
        )  # fmt: skip
    except (TypeError, KeyError) as problem:
        raise ValueError(f"alerts/{name}.toml: {problem}") from problem
    for value, choices in (
        (alert.component, Component),
        (alert.severity, Severity),
        (alert.incident, Incident),
    ):
        if value not in get_args(choices):
            raise ValueError(
                _(
                    "alerts/{name}.toml: `{value}` is none of {choices}",
                    name=name,
                    value=value,
                    choices=get_args(choices),
                )
            )
    return alert


def _slope(row: Mapping[str, Any]) -> Slope:
    return Slope(**{**row, "labels": tuple(row["labels"])})


def _case(row: Mapping[str, Any]) -> Case:
    return Case(**{**row, "fires": tuple(row["fires"])})


@cache
def recordings() -> tuple[Recording, ...]:
    """Return all recording rules, each after those that it uses."""
    text = (files("clusterwright.catalog.watch") / "rules.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["rule"]
    return tuple(Recording(**{**row, "expression": row["expression"].strip()}) for row in rows)
