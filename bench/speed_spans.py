"""Ranges that hold eight of ten unseen runs, from the errors of runs whose source was left out."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from speed_rows import Measured

from clusterwright.plan.speed.coefficients import generation
from clusterwright.plan.speed.span import kind

FEWEST = 12  # runs, and
SOURCES = 2  # sources that a group needs for a range of its own
LOW, HIGH = 0.1, 0.9


def spans(rows: list[Measured], held: np.ndarray) -> dict[str, list[float]]:
    """`Hopper.dense`: what to multiply a prediction with for P10 and P90; `dense` and `other` for what is not there."""
    groups: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(rows):
        if one.weak:
            continue
        plan = kind(one.run)
        for name in (f"{generation(one.run.machine.gpu)}.{plan}", plan, "other"):
            groups[name].append(index)
    found = {}
    for name, mine in sorted(groups.items()):
        if len(mine) >= FEWEST and len({rows[i].source for i in mine}) >= SOURCES:
            found[name] = quantiles([rows[i] for i in mine], held[mine])
    return found


def quantiles(rows: list[Measured], held: np.ndarray) -> list[float]:
    """Weighted so that a source counts by the root of its rows."""
    sources = [one.source for one in rows]
    weight = np.array([1 / np.sqrt(sources.count(name)) for name in sources])
    order = np.argsort(-held)  # measured over predicted, ascending
    below = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    return [round(float(np.exp(-np.interp(share, below, held[order]))), 3) for share in (LOW, HIGH)]


def covered(rows: list[Measured], held: np.ndarray) -> float:
    """Share of complete runs inside ranges that were made without their source."""
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
