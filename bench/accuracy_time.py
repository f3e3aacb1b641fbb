"""Errors of the time model: with the stored coefficients, and with the row's source or publisher left out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
from accuracy_scores import Off, publisher
from speed_fit import fit, residuals
from speed_prior import PRIOR, Prior
from speed_rows import Measured, load
from speed_spans import spans

from clusterwright.plan.prediction import Time
from clusterwright.plan.speed import Coefficients, iteration, span

STEPS = 6  # of a fit that begins at the stored coefficients
PROCESSES = 2
STORED = Path(__file__).parents[1] / "src/clusterwright/catalog/data/fitted/speed.json"


@dataclass(frozen=True, slots=True)
class Times:
    """The same rows three times."""

    rows: tuple[Measured, ...]
    inside: tuple[Off, ...]  # the stored coefficients, which have seen the row
    source_out: tuple[Off, ...]  # a fit without the row's source
    publisher_out: tuple[Off, ...]  # a fit without anything of the row's publisher


def measured_rows() -> list[Measured]:
    """All published pretraining runs with a time."""
    return load()[0]


def in_sample(rows: Iterable[Measured]) -> list[Off]:
    """With the stored coefficients."""
    return [_off(one, iteration(one.run), None) for one in rows]


def held_out(rows: list[Measured]) -> Times:
    """All three; takes half an hour of one core and more."""
    trusted = [one for one in rows if one.trust]
    return Times(
        tuple(rows),
        tuple(in_sample(rows)),
        tuple(_left_out(rows, trusted, lambda one: one.source)),
        tuple(_left_out(rows, trusted, lambda one: publisher(one.source))),
    )


def stored_start() -> np.ndarray:
    """The stored coefficients in deviations from their priors, to begin the fit with."""
    values = json.loads(STORED.read_text(encoding="utf-8"))["values"]
    return np.array([_deviations(prior, values.get(name)) for name, prior in PRIOR.items()])


def _deviations(prior: Prior, value: float | None) -> float:
    if value is None or not prior.spread or value >= prior.most:
        return 0.0
    return float(np.clip(math.log(value / prior.value) / prior.spread, -3, 3))


def _left_out(rows: list[Measured], trusted: list[Measured], group: Callable[[Measured], str]) -> list[Off]:
    """Every row predicted by a fit without its group; its range is of the other groups' errors."""
    groups = sorted({group(one) for one in rows})
    others = {name: [one for one in trusted if group(one) != name] for name in groups}
    with ProcessPoolExecutor(max_workers=PROCESSES) as pool:
        fits = dict(zip(groups, pool.map(_fitted, others.values()), strict=True))
    held = np.zeros(len(trusted))
    for index, one in enumerate(trusted):
        held[index] = residuals([one], fits[group(one)])[0]
    found = {}
    for name in groups:
        kept = np.array([group(one) != name for one in trusted])
        table = spans(others[name], held[kept])
        coefficients = Coefficients(_values(fits[name]))
        for one in rows:
            if group(one) == name:
                found[id(one)] = _off(one, iteration(one.run, coefficients), table)
    return [found[id(one)] for one in rows]


def _fitted(rows: list[Measured]) -> np.ndarray:
    """A fit of its own, not a linearised guess: near the whole fit those stand still and know what was left out."""
    return fit(rows, stored_start(), steps=STEPS).x


def _values(x: np.ndarray) -> dict[str, float]:
    return {name: prior.at(step) for (name, prior), step in zip(PRIOR.items(), x, strict=True)}


def _off(one: Measured, time: Time, table: Mapping[str, list[float]] | None) -> Off:
    low, high = span(one.run, time, table)
    inside = None if one.weak else bool(low <= one.seconds <= high)
    total = float(time.total)
    return Off(one.source, one.label, total, one.seconds, one.complete, inside, group_of(one))


def group_of(one: Measured) -> str:
    """What rows share that differ only in layout; "" where the row does not give its layout."""
    row = one.row
    if not (row["tp"] and row["pp"] and row["micro_batch"]):
        return ""
    same = (
        "source",
        "model",
        "layers",
        "hidden",
        "heads",
        "seq_len",
        "gpu_type",
        "num_gpus",
        "global_batch",
        "precision",
    )
    return " ".join(row[name] for name in same)


def once_each(rows: Iterable[Measured]) -> list[Measured]:
    """Repeats of one plan by one source as one row: its time is their median, all else the first's."""
    plans: dict[tuple[str, str], list[Measured]] = {}
    for one in rows:
        plans.setdefault((one.source, repr(one.run)), []).append(one)
    return [replace(same[0], seconds=median(one.seconds for one in same)) for same in plans.values()]
