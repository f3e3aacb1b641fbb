"""Read fitted coefficients: data/fitted/NAME.json, each written by its bench/accuracy/fit_NAME.py."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data" / "fitted"


@cache
def coefficients(name: str) -> dict[str, Any]:
    """Return the table of data/fitted/NAME.json; keys that start with an underscore are remarks."""
    table: dict[str, Any] = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    return table
