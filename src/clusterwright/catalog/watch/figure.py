"""Figures as data: the numbers that a site's own monitoring gets each minute, by host or by GPU."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from clusterwright.i18n import _

Scope = Literal["node", "gpu"]
LABELS: dict[Scope, tuple[str, ...]] = {"node": ("node",), "gpu": ("node", "gpu")}


@dataclass(frozen=True, slots=True)
class MonitoredFigure:
    """One number of each host or GPU; `name` contains Zabbix macros for the host and GPU."""

    key: str
    of: Scope
    expression: str
    unit: str
    name: str


@cache
def figures() -> tuple[MonitoredFigure, ...]:
    """Return all figures.

    Raises:
        ValueError: One has an unknown key or scope.
    """
    text = (files("clusterwright.catalog.watch") / "figures.toml").read_text(encoding="utf-8")
    return read(text)


def read(text: str) -> tuple[MonitoredFigure, ...]:
    """Return the monitored figures of the catalog, parsed from the TOML text of their file.

    Raises:
        ValueError: a figure has an unknown or missing key, or an unknown scope.
    """
    try:
        figure_list = tuple(MonitoredFigure(**row) for row in tomllib.loads(text)["figure"])
    except (TypeError, KeyError) as problem:
        raise ValueError(f"figures.toml: {problem}") from problem
    for figure in figure_list:
        if figure.of not in get_args(Scope):
            raise ValueError(
                _(
                    "figures.toml: {key}: `{scope}` is none of {choices}",
                    key=figure.key,
                    scope=figure.of,
                    choices=get_args(Scope),
                )
            )
    return figure_list
