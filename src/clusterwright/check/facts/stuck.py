"""Hung processes."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class Stuck:
    """PID and name of processes in uninterruptible sleep during the whole probe, and of zombies."""

    waiting: tuple[tuple[int, str], ...]
    zombies: tuple[tuple[int, str], ...]


@fact(probe="stuck", limit_s=20)
def stuck(out: str) -> Stuck:
    """Processes in state D for ten seconds without interruption, and zombies."""
    report = parse_document(out)
    if report["all"] < 1:
        raise ValueError(out)
    waiting, zombies = (
        tuple((int(pid), str(name)) for pid, name in report[key]) for key in ("stuck", "zombies")
    )
    return Stuck(waiting, zombies)
