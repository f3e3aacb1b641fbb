"""Processes that hang."""

from __future__ import annotations

import json
from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class Stuck:
    """Number and name of those in an uninterruptible wait that did not end while we looked, and of zombies."""

    waiting: tuple[tuple[int, str], ...]
    zombies: tuple[tuple[int, str], ...]


@fact(probe="stuck", limit_s=20)
def stuck(out: str) -> Stuck:
    """Processes in state D for ten seconds without a move, and zombies; a wait that goes on and off is no finding."""
    report = json.loads(out)
    if report["all"] < 1:
        raise ValueError(out)
    waiting, zombies = (
        tuple((int(pid), str(name)) for pid, name in report[key]) for key in ("stuck", "zombies")
    )
    return Stuck(waiting, zombies)
