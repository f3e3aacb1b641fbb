"""What may be planted, and what is right to say and to do about it: `kinds.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

On = Literal["member", "supervisor", "free", "control", "none"]
Ask = Literal["host", "run", "failure", "none"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault, and the truth about it.

    It is a fault of the lab, a signal to a rank, or a program that breaks by itself. `beside` is a second fault at
    the same time; `tears` sends the signal to every rank, and cuts the newest checkpoint. `ask` says who has to know
    the cause, `cause` which answers are right.
    """

    name: str
    about: str
    about_zh: str
    on: On
    ask: Ask
    actions: frozenset[str]
    fault: str = ""
    signal: str = ""
    tears: bool = False
    program: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    cause: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    job: Literal["finishes", "fails"] = "finishes"


@cache
def kinds() -> dict[str, Kind]:
    """Every kind, by name.

    Raises:
        ValueError: a row says what nothing reads, or does not say what is planted.
    """
    return read((Path(__file__).parent / "kinds.toml").read_text(encoding="utf-8"))


def read(text: str) -> dict[str, Kind]:
    """Every kind of that text.

    Raises:
        ValueError: as `kinds` says.
    """
    return {name: _kind(name, row) for name, row in tomllib.loads(text).items()}


def _kind(name: str, row: Mapping[str, Any]) -> Kind:
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    try:
        kind = Kind(name=name, **given | {"actions": frozenset(given["actions"])})
    except (TypeError, KeyError) as problem:
        raise ValueError(f"kinds.toml: {name}: {problem}") from problem
    if kind.on not in get_args(On) or kind.ask not in get_args(Ask):
        raise ValueError(f"kinds.toml: {name}: `on` or `ask` is none that there is")
    if len([way for way in (kind.fault, kind.signal, kind.program) if way]) != 1:
        raise ValueError(f"kinds.toml: {name}: it is one of fault, signal and program")
    if (kind.ask == "none") != (not kind.cause):
        raise ValueError(f"kinds.toml: {name}: a cause is asked of somebody")
    return kind
