"""P10 to P90 ranges for unseen runs, from the errors on held-out sources."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from bench.accuracy.speed_rows import Measured
from clusterwright.plan.speed.coefficients import generation
from clusterwright.plan.speed.span import kind

FEWEST = 12  # runs that a group needs for its own range, and
SOURCES = 2  # sources
PUBLISHERS = 4  # publishers that it needs for a range that is not shrunk towards that of its kind
SHARE = 0.2  # shrinkage towards the range of its kind
LOW, HIGH = 0.1, 0.9


def spans(rows: list[Measured], held: np.ndarray) -> dict[str, list[float]]:
    """Return factors of P10 and P90 by group (`Hopper.dense`), with `dense` and `other` as fallbacks.

    The range of a group with few publishers is shrunk by `SHARE` towards its kind's.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(rows):
        if one.weak:
            continue
        plan = kind(one.run)
        for name in (f"{generation(one.run.machine.gpu)}.{plan}", plan, "other"):
            groups[name].append(index)
    found: dict[str, list[float]] = {}
    for name, mine in sorted(groups.items(), key=lambda group: group[0].count(".")):
        if len(mine) < FEWEST or len({rows[i].source for i in mine}) < SOURCES:
            continue
        own, wider = quantiles([rows[i] for i in mine], held[mine]), found.get(name.rpartition(".")[2])
        few = wider is not None and len({rows[i].publisher for i in mine}) < PUBLISHERS
        found[name] = between(own, wider) if few else own
    return found


def between(own: list[float], wider: list[float]) -> list[float]:
    """Return a range `SHARE` of the way from one to the other."""
    return [round(a ** (1 - SHARE) * b**SHARE, 3) for a, b in zip(own, wider, strict=True)]


def quantiles(rows: list[Measured], held: np.ndarray) -> list[float]:
    """Return P10 and P90 factors, with a source weighted by the root of its rows."""
    sources = [one.source for one in rows]
    weight = np.array([1 / np.sqrt(sources.count(name)) for name in sources])
    order = np.argsort(-held)  # measured over predicted, ascending
    below = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    return [round(float(np.exp(-np.interp(share, below, held[order]))), 3) for share in (LOW, HIGH)]


def covered(rows: list[Measured], held: np.ndarray) -> float:
    """Return the share of complete runs within ranges computed without their source."""
    inside = []
    for source in sorted({one.source for one in rows}):
        mine = np.array([one.source == source for one in rows])
        table = spans([one for one, out in zip(rows, mine, strict=True) if not out], held[~mine])
        for one, error in zip(np.array(rows, dtype=object)[mine], held[mine], strict=True):
            if one.complete and not one.weak:
                plan = kind(one.run)
                chip = f"{generation(one.run.machine.gpu)}.{plan}"
                low, high = table.get(chip) or table.get(plan) or table["other"]
                inside.append(low <= np.exp(-error) <= high)
    return float(np.mean(inside))
