"""Lines and wrong instructions of field guides, as data; `plan/sizing/claims` judges them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class GuideLine:
    """A line of a guide: the requirement that it is about, the text that is judged, and the text that is shown."""

    name: str
    row: str
    text: str
    statement: str


@dataclass(frozen=True, slots=True)
class WrongInstruction:
    """An instruction that is wrong whatever its figures: patterns that find it, the reason and the right line."""

    name: str
    row: str
    patterns: tuple[str, ...]
    reason: str
    right: str


@cache
def guide_lines() -> tuple[GuideLine, ...]:
    """Return the lines of field guides that guide_lines.toml lists."""
    return tuple(GuideLine(name, **entry) for name, entry in _read("guide_lines").items())


@cache
def wrong_instructions() -> tuple[WrongInstruction, ...]:
    """Return the wrong instructions of guides that guide_instructions.toml lists, each with its correction."""
    return tuple(
        WrongInstruction(name, entry["row"], tuple(entry["patterns"]), entry["reason"], entry["right"])
        for name, entry in _read("guide_instructions").items()
    )


def _read(name: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads((_DATA / f"{name}.toml").read_text(encoding="utf-8"))
