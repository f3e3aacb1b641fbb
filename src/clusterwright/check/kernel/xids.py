"""Typed reader of xids.toml: the meaning, severity and action of each Xid."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from clusterwright.i18n import N_

Severity = Literal["fail", "warn", "none"]
WINDOW_HOURS = 24.0  # NVSentinel's window for repeated Xids


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Repeat(_Row):
    """Severity and action from the `times`-th burst on one GPU within `hours` on."""

    times: int
    hours: float
    severity: Severity
    action: str


class Words(_Row):
    """Severity and action of a line that contains the text `has`, instead of those of its number."""

    has: str
    severity: Severity
    action: str


class Xid(_Row):
    """One row of xids.toml, whose header documents each field."""

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
        """Return severity and action of one line: those of the first matching `words` rule, else those of its Xid."""
        match = next((rule for rule in self.words if rule.has in line), self)
        return match.severity, match.action

    def follows(self, number: int) -> bool:
        """Return True if that earlier Xid causes this one, so that this one is ignored."""
        return self.ignore_after == "any" or number in self.ignore_after


# NVIDIA's catalog lists the other numbers as unused: a warning for the vendor, no reason to drain.
_UNLISTED = {
    "meaning": N_("an Xid that NVIDIA's catalog does not explain"),
    "domain": "driver",
    "severity": "warn",
    "action": N_("send the kernel log line to the vendor"),
    "source": ("ours",),
}


class _Table(_Row):
    sources: dict[str, str]
    xid: tuple[Xid, ...]


@cache
def table() -> dict[int, Xid]:
    """Return what xids.toml has of each Xid, by number; an entry with several numbers is listed under each."""
    return {number: row for row in _read().xid for number in row.numbers}


def xid(number: int) -> Xid:
    """Return what xids.toml has of a number, or the default for unlisted numbers."""
    return table().get(number) or Xid.model_validate({"numbers": (number,), **_UNLISTED})


@cache
def _read() -> _Table:
    text = Path(__file__).with_name("xids.toml").read_text(encoding="utf-8")
    return _Table.model_validate(_tuples(tomllib.loads(text)))


def _tuples(value: object) -> object:
    """Convert TOML arrays to tuples, which the strict model requires."""
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return value
