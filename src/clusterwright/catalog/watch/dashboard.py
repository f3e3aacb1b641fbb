"""Dashboards as data: `dashboards/NAME.toml`, ordered from the whole cluster to its parts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from clusterwright.i18n import _

Kind = Literal["row", "timeseries", "stat", "bargauge", "heatmap", "table"]
NAMES = ("cluster", "node", "gpu", "fabric", "storage", "slurm", "job", "team", "training")


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression, and the legend of its series; `{{label}}` is replaced by the label's value."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel; `unit` is Grafana's name of the unit, `marks` are the thresholds of yellow and red.

    `descending`: yellow and red are below the thresholds.
    """

    kind: Kind
    title: str
    queries: tuple[Query, ...] = ()
    unit: str = "short"
    width: int = 12  # of 24 columns
    height: int = 8
    most: float | None = None
    marks: tuple[float, ...] = ()
    descending: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """A selector at the top of a dashboard: the values of a label of a series."""

    name: str
    title: str
    series: str
    label: str
    many: bool = True


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard."""

    name: str
    title: str
    variables: tuple[Variable, ...]
    panels: tuple[Panel, ...]

    @property
    def uid(self) -> str:
        """A fixed ID, so that links to the dashboard stay valid."""
        return f"clusterwright-{self.name}"


@cache
def dashboards() -> tuple[Dashboard, ...]:
    """Return all dashboards.

    Raises:
        ValueError: A file has an unknown key or kind of panel.
    """
    folder = files("clusterwright.catalog.watch") / "dashboards"
    return tuple(read(name, (folder / f"{name}.toml").read_text(encoding="utf-8")) for name in NAMES)


def read(name: str, text: str) -> Dashboard:
    """Return a dashboard, parsed from the TOML text of its file; it may have no variables.

    Raises:
        ValueError: it has an unknown or missing key, or an invalid panel.
    """
    rows = tomllib.loads(text)
    try:
        variables = tuple(Variable(**row) for row in rows.pop("variable", []))
        panels = tuple(_panel(row) for row in rows.pop("panel"))
        return Dashboard(name=name, variables=variables, panels=panels, **rows)
    except (TypeError, KeyError, ValueError) as problem:
        raise ValueError(f"dashboards/{name}.toml: {problem}") from problem


def _panel(row: Mapping[str, Any]) -> Panel:
    """Parse a panel; `query` and `legend` are short for a list of one query.

    Raises:
        ValueError: the kind is unknown, a row has queries, or another panel has none.
    """
    panel_fields = dict(row)
    queries = tuple(Query(**query) for query in panel_fields.pop("queries", []))
    if "query" in panel_fields:
        queries = (Query(panel_fields.pop("query").strip(), panel_fields.pop("legend", "")),)
    panel = Panel(queries=queries, **panel_fields | {"marks": tuple(panel_fields.get("marks", ()))})
    if panel.kind not in get_args(Kind):
        raise ValueError(
            _(
                "panel `{title}` has kind `{kind}`, which is none of {choices}",
                title=panel.title,
                kind=panel.kind,
                choices=get_args(Kind),
            )
        )
    if bool(queries) == (panel.kind == "row"):
        raise ValueError(
            _("panel `{title}`: a row has no query, and every other panel has one", title=panel.title)
        )
    return panel
