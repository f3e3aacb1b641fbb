"""Rows of our own data files, as text by column; read once."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

_DATA = Path(__file__).parent / "data"


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """Every row of data/NAME.csv."""
    with (_DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def number(row: dict[str, str], column: str, scale: float = 1.0) -> float:
    """The cell times `scale`; 0 where it is blank, which means not known."""
    return float(row[column]) * scale if row[column] else 0.0
