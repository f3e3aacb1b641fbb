"""Dashboards as data: `dashboards/NAME.toml`, in the order of a reader who goes from the whole to the part."""

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
    """An expression of PromQL, and what its series are called; `{{label}}` stands for a label's value."""

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture; `unit` is Grafana's name of it, `marks` are where its colour turns to yellow and to red.

    `descending` marks turn as the value falls.
    """

    kind: Kind
    title: str
    queries: tuple[Query, ...] = ()
    unit: str = "short"
    width: int = 12  # of 24
    height: int = 8
    most: float | None = None
    marks: tuple[float, ...] = ()
    descending: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top of a dashboard: the values of a label of some series."""

    name: str
    title: str
    series: str
    label: str
    many: bool = True


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A page of panels."""

    name: str
    title: str
    variables: tuple[Variable, ...]
    panels: tuple[Panel, ...]

    @property
    def uid(self) -> str:
        """Fixed, so that links to it stay true."""
        return f"clusterwright-{self.name}"


@cache
def dashboards() -> tuple[Dashboard, ...]:
    """Every dashboard there is.

    Raises:
        ValueError: a file has a key that nothing reads, or a kind of panel that there is not.
    """
    folder = files("clusterwright.catalog.watch") / "dashboards"
    return tuple(read(name, (folder / f"{name}.toml").read_text(encoding="utf-8")) for name in NAMES)


def read(name: str, text: str) -> Dashboard:
    """The dashboard that a file's text describes.

    Raises:
        ValueError: as `dashboards` says.
    """
    rows = tomllib.loads(text)
    try:
        variables = tuple(Variable(**row) for row in rows.pop("variable", []))
        panels = tuple(_panel(row) for row in rows.pop("panel"))
        return Dashboard(name=name, variables=variables, panels=panels, **rows)
    except (TypeError, KeyError, ValueError) as problem:
        raise ValueError(f"dashboards/{name}.toml: {problem}") from problem


def _panel(row: Mapping[str, Any]) -> Panel:
    """`query` and `legend` stand for a list of one."""
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
