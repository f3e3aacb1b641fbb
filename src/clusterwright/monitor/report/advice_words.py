"""What is advised, in both languages (advice.toml), with what was seen."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from clusterwright.monitor.report.report import Both


def said(what: str, **seen: object) -> Both:
    """The advice with what was seen."""
    english, chinese = words()[what]
    return english.format(**seen), chinese.format(**seen)


@cache
def words() -> dict[str, Both]:
    """All advice by name."""
    text = files(__package__).joinpath("advice.toml").read_text(encoding="utf-8")
    return {name: (each["en"], each["zh"]) for name, each in tomllib.loads(text).items()}
