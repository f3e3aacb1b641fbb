"""Fields of Slurm's answers, whatever its release; pure. What is not understood is None, and never an error."""

from __future__ import annotations

import math
from typing import Any

from clusterwright.slurm.records import NOTHING


def normalize(text: str) -> str:
    """The text; nothing for what Slurm writes where there is nothing."""
    return "" if text in NOTHING else text


def number(text: Any) -> float | None:
    """A finite number, however it came."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def moment(text: str) -> float | None:
    """A time in seconds, as SLURM_TIME_FORMAT=%s has them; a release that writes another form gives none."""
    return float(text) if text.isdigit() else None
