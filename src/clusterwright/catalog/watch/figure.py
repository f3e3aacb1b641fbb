"""Figures as data: what a site's own monitoring is given each minute, by host or by GPU."""

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
class Figure:
    """One number of each host or GPU; `name` holds Zabbix's macros of the host and GPU."""

    key: str
    of: Scope
    expression: str
    unit: str
    name: str


@cache
def figures() -> tuple[Figure, ...]:
    """Every figure there is.

    Raises:
        ValueError: one has a key that nothing reads, or is of something that there is not.
    """
    text = (files("clusterwright.catalog.watch") / "figures.toml").read_text(encoding="utf-8")
    return read(text)


def read(text: str) -> tuple[Figure, ...]:
    """The figures that the file's text describes.

    Raises:
        ValueError: as `figures` says.
    """
    try:
        figure_list = tuple(Figure(**row) for row in tomllib.loads(text)["figure"])
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
