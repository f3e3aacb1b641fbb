"""Alerts as data: `alerts/NAME.toml`, with their text and the test that each must pass."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from clusterwright.i18n import _

Severity = Literal["critical", "warning", "info", "none"]  # page, ticket, note; nobody is told of `none`
Component = Literal["gpu", "fabric", "host", "storage", "slurm", "job", "monitoring"]
Incident = Literal["node", "job", "run", "storage", "slurm", "hosts", "monitoring"]
STEP_S = 15  # between two values of a test's series


@dataclass(frozen=True, slots=True)
class AlertText:
    """What a person reads; labels and value as Prometheus's templates name them."""

    summary: str
    description: str
    fix: str

    def translated(self) -> AlertText:
        """The same in the current language."""
        return AlertText(_(self.summary), _(self.description), _(self.fix))


@dataclass(frozen=True, slots=True)
class Case:
    """Series in (promtool's notation, one value each 15 s), when to look, and the labels of what then fires."""

    series: Mapping[str, str]
    at: str
    fires: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. Notifications of one `incident` of one node, job or run come together."""

    name: str
    component: Component
    severity: Severity
    incident: Incident
    expression: str
    text: AlertText
    cases: tuple[Case, ...]
    muted_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # alert: labels that are the same
    wait: str = "0s"  # how long it must be true
    always: bool = False  # fires as long as Prometheus lives


@dataclass(frozen=True, slots=True)
class Recording:
    """A series that Prometheus works out; a slow one each half minute."""

    record: str
    expression: str
    slow: bool = False


@cache
def alerts() -> tuple[Alert, ...]:
    """Every alert there is, by component and name.

    Raises:
        ValueError: a file has a key that nothing reads, or a word that there is not.
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
    """The alert that a file's text describes.

    Raises:
        ValueError: as `alerts` says.
    """
    rows = tomllib.loads(text)
    try:
        alert_text = AlertText(**rows.pop("text"))
        cases = tuple(_case(row) for row in rows.pop("test"))
        alert = Alert(
            name=name, text=alert_text, cases=cases, wait=rows.pop("for", "0s"),
            expression=rows.pop("expression").strip(), **rows,
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


def _case(row: Mapping[str, Any]) -> Case:
    return Case(**{**row, "fires": tuple(row["fires"])})


@cache
def recordings() -> tuple[Recording, ...]:
    """Every recorded series, each after those that it asks."""
    text = (files("clusterwright.catalog.watch") / "rules.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["rule"]
    return tuple(Recording(**{**row, "expression": row["expression"].strip()}) for row in rows)
