"""Parse fields of Slurm's output, of any release; pure. Values that cannot be parsed are None, never an error."""

from __future__ import annotations

from typing import Any

from clusterwright.onhost.lib.numbers import ascii_int, finite
from clusterwright.slurm.records import NOTHING


def normalize(text: str) -> str:
    """The text; empty for Slurm's forms of no value."""
    return "" if text in NOTHING else text


def number(text: Any) -> float | None:
    """A finite number from a text or number."""
    return finite(text)


def moment(text: str) -> float | None:
    """A time in seconds, as with SLURM_TIME_FORMAT=%s; None for other forms."""
    seconds = ascii_int(text)
    return None if seconds is None else float(seconds)
