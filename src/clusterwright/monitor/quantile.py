"""The quantile that reports and the simulation use."""

from __future__ import annotations

import math
from collections.abc import Sequence


def quantile(values: Sequence[float], part: float) -> float | None:
    """Return the quantile `part` (0 to 1) by nearest rank; None without values."""
    ordered = sorted(values)
    rank = math.ceil(round(part * len(ordered), 6))  # 0.07 * 100 is more than 7
    return ordered[max(0, rank - 1)] if ordered else None
