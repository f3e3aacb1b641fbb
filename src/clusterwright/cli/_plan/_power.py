"""Watts from the command line."""

from __future__ import annotations

import re

from clusterwright.errors import EXIT_USAGE, WrightError

_WATTS = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(W|kW|MW)")
_FACTOR = {"W": 1.0, "kW": 1e3, "MW": 1e6}


def watts(text: str) -> float:
    """Watts of `2200W` or `40kW`.

    Raises:
        WrightError: bad-quantity, for a number without a unit.
    """
    match = _WATTS.fullmatch(text.strip())
    if match is None:
        message = f"`{text[:60]}` is not a power"
        raise WrightError.of("bad-quantity", message, "write it as 2200W or 40kW", exit_code=EXIT_USAGE)
    return float(match[1]) * _FACTOR[match[2]]
