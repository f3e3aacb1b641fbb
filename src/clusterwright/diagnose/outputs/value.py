"""Values of the readers of outputs: a row of text, a finding, a normal value; and the numbers that tools print."""

from __future__ import annotations

import re
from dataclasses import dataclass

KIB = 1024
_UNITS = {unit: KIB**power for power, unit in enumerate("KMGTP", 1)}
_SIZE = re.compile(r"(?P<number>\d+(?:[.,]\d+)?)\s*(?P<unit>[KMGTP])i?B?[nc]?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an output: its number in the source, its text without prefixes, its host and rank if known."""

    number: int
    text: str
    host: str = ""
    rank: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A value out of its normal range; `text` is matched by the failure modes, `row` is quoted."""

    row: Row
    text: str


@dataclass(frozen=True, slots=True)
class Normal:
    """A value within its normal range, as a sentence."""

    row: Row
    sentence: str


def parse_number(text: str) -> float | None:
    """Return a number with a point or a comma, also with `%`; None if the text is none."""
    try:
        return float(text.strip().rstrip("%").replace(",", "."))
    except ValueError:
        return None


def parse_slurm_size(text: str) -> int | None:
    """Return the bytes of a size as Slurm prints it (`42991616K`, `64Gn`, `1.5T`); None without a unit, but for 0."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return 0 if text.strip() == "0" else None
    unit_bytes: int = _UNITS[match["unit"].upper()]
    return round(float(match["number"].replace(",", ".")) * unit_bytes)


def percent(value: float) -> str:
    """Return a number of percent as text with at most one decimal, without `%`."""
    return f"{value:.1f}".removesuffix(".0")
