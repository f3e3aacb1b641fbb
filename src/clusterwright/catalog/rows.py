"""Read the rows of the built-in data files, as text by column; cached."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

_DATA = Path(__file__).parent / "data"


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """Return every row of the catalog's file data/NAME.csv as a dict by the names of its columns."""
    with (_DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def number(row: dict[str, str], column: str, scale: float = 1.0) -> float:
    """Return the cell times `scale`; 0 for a blank one, which means unknown."""
    return float(row[column]) * scale if row[column] else 0.0
