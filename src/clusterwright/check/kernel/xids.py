"""The table of Xids, typed: what each number means and what follows from it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from clusterwright.i18n import N_

Severity = Literal["fail", "warn", "none"]
WINDOW_HOURS = 24.0  # NVSentinel's window for what comes again


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Repeat(_Row):
    """From the `times`-th time on one GPU within `hours`, it is this."""

    times: int
    hours: float
    severity: Severity
    action: str


class Words(_Row):
    """Where a line that `has` these words is something else than its number says."""

    has: str
    severity: Severity
    action: str


class Xid(_Row):
    """One row of xids.toml, whose head says what each field means."""

    numbers: tuple[int, ...]
    meaning: str
    domain: Literal["gpu", "app", "driver"]
    severity: Severity
    action: str
    source: tuple[str, ...]
    repeat: Repeat | None = None
    ignore_after: Literal["any"] | tuple[int, ...] = ()
    spread: Literal["app"] | None = None
    words: tuple[Words, ...] = ()
    holds: Literal["boot"] | float = WINDOW_HOURS
    reason: str = ""

    def assess(self, line: str) -> tuple[Severity, str]:
        """Severity and action of one line: by its words where they decide."""
        match = next((rule for rule in self.words if rule.has in line), self)
        return match.severity, match.action

    def follows(self, number: int) -> bool:
        """True when this Xid is only what comes after that one."""
        return self.ignore_after == "any" or number in self.ignore_after


# The catalogue calls the other numbers unused: recorded for the vendor, no reason to drain.
_UNLISTED = {
    "meaning": N_("a number that NVIDIA's catalogue does not explain"),
    "domain": "driver",
    "severity": "warn",
    "action": N_("ask the vendor, with the line of the kernel's log"),
    "source": ("ours",),
}


class _Table(_Row):
    sources: dict[str, str]
    xid: tuple[Xid, ...]


@cache
def table() -> dict[int, Xid]:
    """Every row by number; a row for several numbers is there under each."""
    return {number: row for row in _read().xid for number in row.numbers}


def xid(number: int) -> Xid:
    """The row of that number, or the one for numbers that no row explains."""
    return table().get(number) or Xid.model_validate({"numbers": (number,), **_UNLISTED})


@cache
def _read() -> _Table:
    text = Path(__file__).with_name("xids.toml").read_text(encoding="utf-8")
    return _Table.model_validate(_tuples(tomllib.loads(text)))


def _tuples(value: object) -> object:
    """TOML's arrays as tuples, which a strict model asks for."""
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return value
