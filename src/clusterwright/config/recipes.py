"""What the arguments of a recipe are: `recipes.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

Value = str | int | float | bool


@cache
def arguments_of(recipe: str) -> dict[str, Value]:
    """Each argument of the recipe, with what it is where nothing is said."""
    text = Path(__file__).with_name("recipes.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Value]] = tomllib.loads(text)
    return tables["common"] | tables[recipe]
