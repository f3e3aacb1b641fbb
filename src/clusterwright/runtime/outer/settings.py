"""What the launcher says of outer steps: CLUSTERWRIGHT_OUTER, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLE = "CLUSTERWRIGHT_OUTER"
BITS = (8, 16, 32)


@dataclass(frozen=True)
class OuterSettings:
    """Each so many steps the ranks meet; `bits` of each number travel. In the first `warm_up` steps gradients do."""

    every: int
    lr: float = 0.7
    momentum: float = 0.9
    bits: int = 32
    warm_up: int = 0


def read(environ: Mapping[str, str]) -> OuterSettings | None:
    """What is said; None for ranks that meet in each step.

    Raises:
        ValueError: it cannot be done.
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
            f"outer: {text}: every is at least 1, warm_up 0, lr more than 0, momentum from 0 to below 1, bits {BITS}"
        )
    return settings
