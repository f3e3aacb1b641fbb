"""Faults of a host in its kernel log (faults.toml), and warnings that no table explains; pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from clusterwright.check.kernel.lines import HOUR_S, WARNING, KernelLine, begins_with_process, quotes_user
from clusterwright.check.kernel.xids import Severity

# NVIDIA driver lines with an Xid: xids.toml explains them.
_XID = re.compile(r"NVRM: .*Xid|SXid|NVRM: .*(fallen off the bus|installed in this system|NVIDIA GPU )")


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class KernelFault(_Row):
    """One row of faults.toml, whose header documents each field."""

    name: str
    pattern: re.Pattern[str]
    severity: Severity
    fix: str
    source: str
    hours: Literal["boot"] | float = 24.0
    least: int = 1


class Known(_Row):
    """One row of known.toml: a harmless line, and why it is harmless."""

    pattern: re.Pattern[str]
    reason: str


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One fault of the host: the affected part, the number of lines within its time window, and the latest line."""

    fault: KernelFault
    part: str
    times: int
    line: str


@cache
def faults() -> tuple[KernelFault, ...]:
    """Return every kind of fault in faults.toml, in file order."""
    return tuple(KernelFault.model_validate(_compiled(row)) for row in _rows("faults.toml", "fault"))


@cache
def harmless_lines() -> tuple[Known, ...]:
    """Return every kind of harmless line in known.toml."""
    return tuple(Known.model_validate(_compiled(row)) for row in _rows("known.toml", "known"))


def _rows(file: str, name: str) -> list[dict[str, object]]:
    rows = tomllib.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))[name]
    return list(rows)


def _compiled(row: dict[str, object]) -> dict[str, object]:
    return row | {"pattern": re.compile(str(row["pattern"]))}


def find_faults(lines: Iterable[KernelLine], now_s: float) -> tuple[Occurrence, ...]:
    """Return every fault with enough lines in its time window before `now_s`, in the order of faults.toml."""
    lines_by_fault: dict[tuple[str, str], list[KernelLine]] = {}
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


def _fault(text: str) -> tuple[KernelFault, str] | None:
    row = _row_of(_shape(text))
    match = row.pattern.search(text) if row else None
    if row is None or match is None:
        return None
    return row, next((part for part in match.groupdict().values() if part), "")


# Long numbers are process ids, addresses and sectors, which no pattern matches; replaced by one constant, the lines
# of a thousand hosts become a few hundred cache entries.
_LONG = re.compile(r"\b(0x)?[0-9a-f]{6,}\b|\d{4,}")
_MOST_SHAPES = 1 << 16


def _shape(text: str) -> str:
    return _LONG.sub(r"\g<1>7777", text)


@lru_cache(maxsize=_MOST_SHAPES)
def _row_of(shape: str) -> KernelFault | None:
    rows = (row for row in faults() if row.pattern.search(shape))
    is_forged = {"fail": quotes_user, "warn": begins_with_process}
    return next((row for row in rows if row.severity == "none" or not is_forged[row.severity](shape)), None)


def _is_current(row: KernelFault, line: KernelLine, now_s: float) -> bool:
    return row.hours == "boot" or now_s - line.time_s <= row.hours * HOUR_S


def unknown_kinds(lines: Iterable[KernelLine]) -> dict[str, tuple[int, str]]:
    """Group warnings that no table explains by kind: the number of lines, and the first of them."""
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
    """Return a line with addresses and numbers replaced, so that repetitions become equal, cut to 120 characters."""
    for pattern, replacement in _VARYING:
        text = re.sub(pattern, replacement, text)
    return text[:120]


def telling() -> Iterator[str]:
    """Yield the patterns of lines that a host sends whatever their priority, besides all warnings."""
    yield r"NVRM:|SXid|clusterwright:? repaired"
    for row in faults():
        # A group name may occur only once in the joined expression.
        yield re.sub(r"\?P<\w+>", "", row.pattern.pattern)
