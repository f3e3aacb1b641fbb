"""The arguments of the recipes, from `recipes.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

Value = str | int | float | bool


@cache
def arguments_of(recipe: str) -> dict[str, Value]:
    """Return the arguments of a recipe with their defaults."""
    text = Path(__file__).with_name("recipes.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Value]] = tomllib.loads(text)
    return tables["common"] | tables[recipe]
