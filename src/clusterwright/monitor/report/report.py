"""A report before it has a form: a few figures, parts with bars or rows, and notes, each in both languages."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from clusterwright.i18n import bilingual

Bilingual = tuple[str, str]  # English, Chinese
Language = Literal["en", "zh"]

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400
_GIB = 2**30
_SHORT_S = 2


@dataclass(frozen=True, slots=True)
class Figure:
    """One big figure."""

    name: Bilingual
    value: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A share of something that was given; None where nobody can say."""

    name: Bilingual
    ratio: float | None
    detail: str = ""  # used/given, in units


@dataclass(frozen=True, slots=True)
class Part:
    """A titled part: bars, then rows under headings."""

    title: Bilingual
    bars: tuple[Bar, ...] = ()
    heads: tuple[Bilingual, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[Bilingual, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All of it; `data` is the same for programs, and `table` names the part that is the CSV file."""

    title: Bilingual
    figures: tuple[Figure, ...] = ()
    parts: tuple[Part, ...] = ()
    notes: tuple[Bilingual, ...] = ()
    missing: tuple[str, ...] = ()
    footer: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    table: int = 0


def spoken(text: Bilingual, language: Language) -> str:
    """In one language."""
    return text[language == "zh"]


def percent(ratio: float | None) -> str:
    """62 %, or a dash."""
    return "-" if ratio is None else f"{ratio:.0%}" if ratio >= 0.0995 or not ratio else f"{ratio:.1%}"


def span(seconds: float | None) -> str:
    """85 ms, 48 s, 12 min, 3.4 h, 2.1 d."""
    if seconds is None:
        return "-"
    if 0 < seconds < _SHORT_S:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 2 * _MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.1f} h" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.1f} d"


def clock(seconds: float | None) -> str:
    """1-02:30:00, as Slurm writes it."""
    if seconds is None:
        return "-"
    days, remainder = divmod(round(seconds), _DAY_S)
    hours, remainder = divmod(remainder, _HOUR_S)
    text = f"{hours:02}:{remainder // _MINUTE_S:02}:{remainder % _MINUTE_S:02}"
    return f"{days}-{text}" if days else text


def gib(size: float | None) -> str:
    """26.5 GiB."""
    return "-" if size is None else f"{size / _GIB:.1f} GiB"


def ratio(part: float | None, total: float | None) -> float | None:
    """From 0 to 1; None of nothing. A counter that was read a moment late makes no more than all."""
    return None if part is None or not total else min(1.0, max(0.0, part / total))


def message(name: str, **values: object) -> Bilingual:
    """The advice with what was seen."""
    return bilingual(messages()[name], **values)


@cache
def messages() -> dict[str, str]:
    """All advice by name."""
    text = files(__package__).joinpath("advice.toml").read_text(encoding="utf-8")
    return dict(tomllib.loads(text))
