"""Fits the time model: robust least squares on log(predicted / measured), with a prior for each coefficient."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from bench.accuracy.speed_prior import PRIOR
from bench.accuracy.speed_rows import Measured
from clusterwright.plan.run import Machine
from clusterwright.plan.speed import Coefficients, iteration, links

HUBER = 0.08  # residuals beyond this count linearly: such rows have unknown settings
NOISE = 0.05  # spread of repeated runs (BigScience repeats: median 5%), the scale of all residuals
STEPS = 16
LEFT_OUT_STEPS = 9
PROCESSES = 2
DONE = 2e-4  # relative gain of a step below which the fit has converged


def cache_collectives() -> None:
    """Cache times of collectives, which do not depend on the coefficients; a fit is four times as fast."""
    ask, known = links.seconds, {}

    def once(kind: str, size: float, machine: Machine, *rest: float) -> float:
        key = (kind, size, id(machine), *rest)
        if key not in known:
            known[key] = ask(kind, size, machine, *rest)
        return known[key]

    links.seconds = once


@dataclass(frozen=True, slots=True)
class Fit:
    """The result of a fit: coefficients, residuals and dependencies of rows."""

    x: np.ndarray  # (coefficients,) in prior deviations
    residuals: np.ndarray  # (rows,) log of predicted over measured
    touched: list[np.ndarray]  # rows that depend on each coefficient


def values(x: np.ndarray) -> dict[str, float]:
    """Return the coefficients by name, from their deviations from the priors."""
    return {name: prior.at(step) for (name, prior), step in zip(PRIOR.items(), x, strict=True)}


def residuals(rows: list[Measured], x: np.ndarray) -> np.ndarray:
    """Return log(predicted / measured) of each row."""
    fit = Coefficients(values(x))
    return np.array([math.log(iteration(one.run, fit).total / one.seconds) for one in rows])


def weights(rows: list[Measured]) -> np.ndarray:
    """Return row weights: a source counts by the root of its rows, repeats of one configuration once."""
    sources = Counter(one.source for one in rows)
    repeats = Counter((one.source, repr(one.run)) for one in rows)
    base = np.array([1 / math.sqrt(sources[one.source]) / repeats[one.source, repr(one.run)] for one in rows])
    trust = np.array([one.trust for one in rows])
    base = base * trust
    return base * np.count_nonzero(base) / base.sum()


def touched(rows: list[Measured], x: np.ndarray) -> list[np.ndarray]:
    """Return for each coefficient the indexes of the rows that depend on it."""
    start = residuals(rows, x)
    found = []
    for column in range(len(x)):
        moved = x.copy()
        moved[column] += 0.5
        found.append(np.flatnonzero(np.abs(residuals(rows, moved) - start) > 1e-9))
    return found


def jacobian(rows: list[Measured], x: np.ndarray, at: np.ndarray, rows_of: list[np.ndarray]) -> np.ndarray:
    """Return the Jacobian by finite differences, only over rows that depend on a coefficient."""
    matrix = np.zeros((len(rows), len(x)))
    for column, mine in enumerate(rows_of):
        matrix[mine, column] = derivative(rows, x, at, column, mine)
    return matrix


def derivative(
    rows: list[Measured], x: np.ndarray, at: np.ndarray, column: int, mine: np.ndarray
) -> np.ndarray:
    """Return the derivative by one coefficient of the rows that depend on it."""
    moved = x.copy()
    moved[column] += 0.05
    return (residuals([rows[i] for i in mine], moved) - at[mine]) / 0.05


def cost(residual: np.ndarray, weight: np.ndarray, x: np.ndarray) -> float:
    """Return the Huber loss of the rows plus squared priors, in units of the noise."""
    size = np.abs(residual)
    loss = np.where(size < HUBER, size**2, 2 * HUBER * size - HUBER**2) / NOISE**2
    return float((weight * loss).sum() + (x**2).sum())


def step(
    residual: np.ndarray, weight: np.ndarray, x: np.ndarray, matrix: np.ndarray, damp: float
) -> np.ndarray:
    """Return the next step of the fit: damped Gauss-Newton with robust row weights."""
    robust = weight * np.minimum(1, HUBER / np.maximum(np.abs(residual), 1e-9)) / NOISE**2
    normal = matrix.T @ (robust[:, None] * matrix) + np.eye(len(x)) * (1 + damp)
    return np.linalg.solve(normal, -(matrix.T @ (robust * residual) + x))


def fit(rows: list[Measured], touch: list[np.ndarray] | None = None, *, steps: int = STEPS) -> Fit:
    """Fit the coefficients, starting at the priors; `touch` is the result of `touched`, if known."""
    cache_collectives()
    x = np.zeros(len(PRIOR))
    weight, rows_of, damp = weights(rows), touch or touched(rows, x), 0.3
    residual = residuals(rows, x)
    matrix = jacobian(rows, x, residual, rows_of)
    for _ in range(steps):
        trial = np.clip(x + step(residual, weight, x, matrix, damp), -3, 3)
        there = residuals(rows, trial)
        before, after = cost(residual, weight, x), cost(there, weight, trial)
        if after >= before:
            damp *= 6
            if damp > 1e4:
                break
            continue
        x, residual, damp = trial, there, damp / 3
        if before - after < DONE * before:
            break
        matrix = jacobian(rows, x, residual, rows_of)
    return Fit(x, residual, rows_of)


def leave_out(rows: list[Measured], whole: Fit, groups: list[str]) -> dict[str, np.ndarray]:
    """Return for each group the coefficients of a fit without its rows, in deviations.

    Each starts at the priors: started at the full fit, which lies at kinks of the cost, it would not move, and the
    coefficients would still contain the held-out rows.
    """
    names = sorted(set(groups))
    left = [np.array([group == name for group in groups]) for name in names]
    with ProcessPoolExecutor(max_workers=PROCESSES) as pool:
        fits = pool.map(without, [rows] * len(names), [whole.touched] * len(names), left)
        return dict(zip(names, fits, strict=True))


def without(rows: list[Measured], touch: list[np.ndarray], left: np.ndarray) -> np.ndarray:
    """Fit without the rows marked in `left`; `touch` has for all rows those that depend on each coefficient."""
    kept = [one for one, out in zip(rows, left, strict=True) if not out]
    new = np.cumsum(~left) - 1  # index of a row among the retained ones
    mine = [new[rows_of[~left[rows_of]]] for rows_of in touch]
    found = fit(kept, mine, steps=LEFT_OUT_STEPS).x
    print(f"{len(kept)} rows kept", file=sys.stderr, flush=True)
    return found


def errors(rows: list[Measured], groups: list[str], fits: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return log(predicted / measured) of every row, by the fit without its group."""
    held = np.zeros(len(rows))
    for name, x in fits.items():
        mine = [index for index, group in enumerate(groups) if group == name]
        held[mine] = residuals([rows[index] for index in mine], x)
    return held
