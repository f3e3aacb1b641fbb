"""Fitted coefficients: data/fitted/NAME.json, each written by its bench/fit_NAME.py."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def coefficients(name: str) -> dict[str, Any]:
    """The stored table `name`; keys that start with an underscore are remarks."""
    text = (files("clusterwright.catalog") / "data" / "fitted" / f"{name}.json").read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
