"""Parse fields of Slurm's output, of any release; pure. Values that cannot be parsed are None, never an error."""

from __future__ import annotations

from typing import Any

from clusterwright.onhost.lib.numbers import ascii_int, finite
from clusterwright.slurm.records import NOTHING


def normalize(text: str) -> str:
    """Return the text, empty for Slurm's notations of no value such as `(null)`."""
    return "" if text in NOTHING else text


def number(text: Any) -> float | None:
    """Return a finite number from a text or number, else None."""
    return finite(text)


def moment(text: str) -> float | None:
    """Return a time in seconds since the epoch, as Slurm prints with SLURM_TIME_FORMAT=%s; None for other forms."""
    seconds = ascii_int(text)
    return None if seconds is None else float(seconds)
