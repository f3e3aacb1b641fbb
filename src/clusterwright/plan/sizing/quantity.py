"""Counts and shares as people write them: 52k, 1.5M, 1e9; 30%."""

from __future__ import annotations

import re
from decimal import Decimal

from clusterwright.units import QuantityError

_COUNT = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE]\+?[0-9]{1,2})?) ?([kKmMbBgGtT]?)")
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?(%?)")


def parse_count(text: str) -> int:
    """`52k` is 52,000, `1.5M` 1,500,000, `2B` and `2e9` 2,000,000,000, `1T` 10^12.

    Raises:
        QuantityError: not a number, an unknown suffix, a fraction of one, or nothing at all.
    """
    match = _COUNT.fullmatch(text.strip().replace("_", "").replace(",", ""))
    if match is None:
        raise QuantityError(f"`{text[:60]}` is not a count", "write it as 52000, 52k, 1.5M or 1e9")
    value = Decimal(match[1]) * _TIMES[match[2].lower()]
    if value != round(value) or value < 1:
        raise QuantityError(f"`{text}` is not a whole number above 0", "write it as 52000, 52k, 1.5M or 1e9")
    return round(value)


def parse_share(text: str) -> float:
    """`30%` and `0.3` are 0.3; at least 0 and below 1.

    Raises:
        QuantityError: not a share, or all of it or more.
    """
    match = _SHARE.fullmatch(text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else -1
    if not 0 <= value < 1:
        raise QuantityError(f"`{text[:60]}` is not a share from 0% to 99%", "write it as 30% or 0.3")
    return value
