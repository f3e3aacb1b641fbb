"""Faults of the host in its kernel's log, and the lines that nobody has explained yet; pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from clusterwright.check.kernel.lines import HOUR_S, WARNING, Line
from clusterwright.check.kernel.xids import Severity

# Any line of NVIDIA's with a number of its own: xids.toml has it.
_XID = re.compile(r"NVRM: .*Xid|SXid|NVRM: .*(fallen off the bus|installed in this system|NVIDIA GPU )")


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Fault(_Row):
    """One row of faults.toml, whose head says what each field means."""

    name: str
    pattern: re.Pattern[str]
    severity: Severity
    fix: str
    source: str
    hours: Literal["boot"] | float = 24.0
    least: int = 1


class Known(_Row):
    """One row of known.toml: what is harmless, and why."""

    pattern: re.Pattern[str]
    reason: str


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One fault of the host: how often within its time, on what, and the latest line of it."""

    fault: Fault
    part: str
    times: int
    line: str


@cache
def faults() -> tuple[Fault, ...]:
    """Every row of faults.toml, in its order."""
    return tuple(Fault.model_validate(_compiled(row)) for row in _rows("faults.toml", "fault"))


@cache
def harmless_lines() -> tuple[Known, ...]:
    """Every row of known.toml."""
    return tuple(Known.model_validate(_compiled(row)) for row in _rows("known.toml", "known"))


def _rows(file: str, name: str) -> list[dict[str, object]]:
    rows = tomllib.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))[name]
    return list(rows)


def _compiled(row: dict[str, object]) -> dict[str, object]:
    return row | {"pattern": re.compile(str(row["pattern"]))}


def find_faults(lines: Iterable[Line], now_s: float) -> tuple[Occurrence, ...]:
    """Every fault that still counts at `now_s` and came often enough, in the order of the table."""
    lines_by_fault: dict[tuple[str, str], list[Line]] = {}
    rows = {row.name: row for row in faults()}
    for line in lines:
        if (hit := _fault(line.text)) and _is_current(hit[0], line, now_s):
            lines_by_fault.setdefault((hit[0].name, hit[1]), []).append(line)
    enough = [
        Occurrence(rows[name], part, len(fault_lines), fault_lines[-1].text)
        for (name, part), fault_lines in lines_by_fault.items()
        if len(fault_lines) >= rows[name].least
    ]
    return tuple(sorted(enough, key=lambda occurrence: list(rows).index(occurrence.fault.name)))


def _fault(text: str) -> tuple[Fault, str] | None:
    row = _row_of(_shape(text))
    match = row.pattern.search(text) if row else None
    if row is None or match is None:
        return None
    return row, next((part for part in match.groupdict().values() if part), "")


# Long numbers are process ids, addresses and sectors: no pattern asks for one of them, and with them put alike the
# lines of a thousand hosts come down to a few hundred.
_LONG = re.compile(r"\b(0x)?[0-9a-f]{6,}\b|\d{4,}")
_MOST_SHAPES = 1 << 16


def _shape(text: str) -> str:
    return _LONG.sub(r"\g<1>7777", text)


@lru_cache(maxsize=_MOST_SHAPES)
def _row_of(shape: str) -> Fault | None:
    return next((row for row in faults() if row.pattern.search(shape)), None)


def _is_current(row: Fault, line: Line, now_s: float) -> bool:
    return row.hours == "boot" or now_s - line.time_s <= row.hours * HOUR_S


def unknown_kinds(lines: Iterable[Line]) -> dict[str, tuple[int, str]]:
    """Kinds of lines that warn and that no table has: how many of each, and the first of them."""
    kinds: dict[str, tuple[int, str]] = {}
    for line in lines:
        if line.priority is None or line.priority > WARNING or _explained(line.text):
            continue
        kind = _kind(line.text)
        times, first_line = kinds.get(kind, (0, line.text))
        kinds[kind] = (times + 1, first_line)
    return kinds


def _explained(text: str) -> bool:
    return _is_explained(_shape(text))


@lru_cache(maxsize=_MOST_SHAPES)
def _is_explained(shape: str) -> bool:
    explanation = (
        _row_of(shape) or _XID.search(shape) or any(row.pattern.search(shape) for row in harmless_lines())
    )
    return bool(explanation)


_VARYING: Sequence[tuple[str, str]] = (
    (r"\b(0x)?[0-9a-f]{6,}\b|0x[0-9a-f]+", "H"),  # addresses
    (r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d", "PCI"),
    (r"\d+", "N"),
    (r"\s+", " "),
)


def _kind(text: str) -> str:
    """The line without what changes from one time to the next: addresses and numbers."""
    for pattern, replacement in _VARYING:
        text = re.sub(pattern, replacement, text)
    return text[:120]


def telling() -> Iterator[str]:
    """The patterns of what is told whatever its priority: a host sends lines that match, and those that warn."""
    yield r"NVRM:|SXid|clusterwright:? repaired"
    for row in faults():
        # A name may be there once only in the joined expression.
        yield re.sub(r"\?P<\w+>", "", row.pattern.pattern)
