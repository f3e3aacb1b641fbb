"""Settings of outer steps that the launcher passes in CLUSTERWRIGHT_OUTER, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLE = "CLUSTERWRIGHT_OUTER"
BITS = (8, 16, 32)


@dataclass(frozen=True)
class OuterSettings:
    """An outer step every `every` steps sends `bits` per number; the first `warm_up` steps reduce gradients instead."""

    every: int
    lr: float = 0.7
    momentum: float = 0.9
    bits: int = 32
    warm_up: int = 0


def read(environ: Mapping[str, str]) -> OuterSettings | None:
    """Return the settings of outer steps from an environment variable; None without outer steps.

    Raises:
        ValueError: a value is out of range.
    """
    text = environ.get(VARIABLE)
    if not text:
        return None
    settings = OuterSettings(**json.loads(text))
    if (
        min(settings.every, settings.warm_up + 1) < 1
        or not settings.lr > 0
        or not 0 <= settings.momentum < 1
        or settings.bits not in BITS
    ):
        raise ValueError(
            f"outer: {text}: every must be at least 1, warm_up at least 0, lr more than 0, momentum from 0 to below 1,"
            f" bits one of {BITS}"
        )
    return settings
