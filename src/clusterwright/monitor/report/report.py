"""The content of a report before it is rendered: figures, parts with bars or rows, and notes.

Titles, headings and names of figures are texts of the catalog, translated where they are rendered; the rest is in
the current language.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from clusterwright.i18n import _
from clusterwright.units import human_duration, human_percent, human_size

_DAY_S = 86400


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """One large figure at the top of a report."""

    name: str
    value: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ReportBar:
    """A share of a total, drawn as a bar; None if it is not known."""

    name: str
    ratio: float | None
    detail: str = ""  # used/total, in units


@dataclass(frozen=True, slots=True)
class ReportPart:
    """A titled part: bars, then rows under headings, then lines."""

    title: str
    bars: tuple[ReportBar, ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A report; `data` is its JSON document, and `table` is the index of the part that becomes the CSV file."""

    title: tuple[str, str]  # English, Chinese
    figures: tuple[ReportFigure, ...] = ()
    parts: tuple[ReportPart, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    footer: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    table: int = 0


def percent(ratio: float | None) -> str:
    """Format a ratio in percent; `-` for None."""
    return "-" if ratio is None else human_percent(ratio)


def span(seconds: float | None) -> str:
    """Format a duration for people; `-` for None."""
    return "-" if seconds is None else human_duration(seconds)


def clock(seconds: float | None) -> str:
    """Format a duration as Slurm does, `1-02:30:00`; `-` for None."""
    if seconds is None:
        return "-"
    days, remainder = divmod(round(seconds), _DAY_S)
    hours, remainder = divmod(remainder, 3600)
    text = f"{hours:02}:{remainder // 60:02}:{remainder % 60:02}"
    return f"{days}-{text}" if days else text


def size(size_bytes: float | None) -> str:
    """Format a size in bytes for people, such as `1.5 GiB`; `-` for None."""
    return "-" if size_bytes is None else human_size(size_bytes)


def ratio(part: float | None, total: float | None) -> float | None:
    """Return part / total, limited to 0 to 1 as both are read at different times; None if unknown, or total is 0."""
    return None if part is None or not total else min(1.0, max(0.0, part / total))


def message(name: str, **values: object) -> str:
    """Return the text `name` of advice.toml in the current language, with the values in its fields."""
    return _(messages()[name], **values)


@cache
def messages() -> dict[str, str]:
    """Return all texts of advice.toml by name."""
    return dict(tomllib.loads(files(__package__).joinpath("advice.toml").read_text(encoding="utf-8")))
