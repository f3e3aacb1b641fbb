"""Errors of the time model: in sample, and with the row's source or publisher held out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from bench.accuracy.scores import Off
from bench.accuracy.speed_fit import errors, values
from bench.accuracy.speed_rows import Measured, load
from bench.accuracy.speed_spans import spans
from clusterwright.plan.prediction import Time
from clusterwright.plan.speed import Coefficients, coefficients, iteration, span

LEFT_OUT = Path(__file__).with_name("left_out.json")  # written by fit_plan.py


@dataclass(frozen=True, slots=True)
class Times:
    """Errors of the same rows by three kinds of fits."""

    rows: tuple[Measured, ...]
    inside: tuple[Off, ...]  # by the stored coefficients, which were fitted on the row
    source_out: tuple[Off, ...]  # by a fit without the row's source
    publisher_out: tuple[Off, ...]  # by a fit without any row of the publisher


def measured_rows() -> list[Measured]:
    """Return all published pretraining runs with a time."""
    return load()[0]


def in_sample(rows: Iterable[Measured]) -> list[Off]:
    """Return errors with the stored coefficients."""
    return [_off(one, iteration(one.run), None) for one in rows]


def held_out(rows: list[Measured]) -> Times:
    """Return all three kinds of errors; the held-out fits are from bench/accuracy/fit_plan.py."""
    trusted = [one for one in rows if one.trust]
    stored = json.loads(LEFT_OUT.read_text(encoding="utf-8"))
    fits = {by: {name: np.array(x) for name, x in kept.items()} for by, kept in stored.items()}
    return Times(
        tuple(rows),
        tuple(in_sample(rows)),
        tuple(_left_out(rows, trusted, lambda one: one.source, fits["source"])),
        tuple(_left_out(rows, trusted, lambda one: one.publisher, fits["publisher"])),
    )


def _left_out(
    rows: list[Measured],
    trusted: list[Measured],
    group: Callable[[Measured], str],
    fits: Mapping[str, np.ndarray],
) -> list[Off]:
    """Predict every row by the fit without its group; its range is from the errors of other groups."""
    groups = [group(one) for one in trusted]
    held, stored = errors(trusted, groups, fits), coefficients()
    found = {}
    for name in sorted({group(one) for one in rows}):
        kept = np.array([other != name for other in groups])
        table = spans([one for one, is_kept in zip(trusted, kept, strict=True) if is_kept], held[kept])
        known = (
            Coefficients(values(fits[name])) if name in fits else stored
        )  # rows of weight 0 were in no fit
        for one in rows:
            if group(one) == name:
                found[id(one)] = _off(one, iteration(one.run, known), table)
    return [found[id(one)] for one in rows]


def _off(one: Measured, time: Time, table: Mapping[str, list[float]] | None) -> Off:
    low, high = span(one.run, time, table)
    inside = None if one.weak else bool(low <= one.seconds <= high)
    total = float(time.total)
    return Off(one.source, one.label, total, one.seconds, one.complete, inside, group_of(one))


def group_of(one: Measured) -> str:
    """Return a key shared by rows that differ only in layout; empty if the row does not state its layout."""
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
    """Merge rows of the same plan by one source into one row with their median time."""
    plans: dict[tuple[str, str], list[Measured]] = {}
    for one in rows:
        plans.setdefault((one.source, repr(one.run)), []).append(one)
    return [replace(same[0], seconds=median(one.seconds for one in same)) for same in plans.values()]
