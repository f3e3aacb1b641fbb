"""Rows of a table of layouts as plans of plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clusterwright.plan.memory import peak
from clusterwright.plan.prediction import Memory, Time
from clusterwright.plan.run import Layout, Run, Schedule
from clusterwright.plan.search.kept import FAMILIES
from clusterwright.plan.search.outcome import Plan
from clusterwright.plan.search.space import CHOICES, FIELDS
from clusterwright.plan.speed import iteration

if TYPE_CHECKING:
    from clusterwright.plan.search.space import Array

SCHEDULES = tuple(Schedule)
Parts = TypeVar("Parts", Memory, Time)


def plans(run_of: Callable[[Layout], Run], columns: Mapping[str, Array]) -> list[Plan]:
    """The plan of each row of FIELDS, CHOICES, `schedule` and `family`, predicted anew."""
    made: dict[int, Plan] = {}
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # `pick` computes both of its sides
        for code in np.unique(columns["schedule"]):
            where = np.flatnonzero(columns["schedule"] == code)
            rows: dict[str, Any] = {name: columns[name][where] for name in (*FIELDS, *CHOICES)}
            run = run_of(Layout(**rows, schedule=SCHEDULES[int(code)]))
            parts = zip(_each(iteration(run), len(where)), _each(peak(run), len(where)), strict=True)
            for index, (at, (time, memory)) in enumerate(zip(where.tolist(), parts, strict=True)):
                whole: dict[str, Any] = {name: int(column[index]) for name, column in rows.items()}
                layout = Layout(**whole, schedule=SCHEDULES[int(code)])
                made[at] = Plan(run_of(layout), FAMILIES[int(columns["family"][at])], time, memory)
    return [made[at] for at in sorted(made)]


def table(cells: list[dict[str, Any]]) -> dict[str, Array]:
    """Rows that were kept one by one, as columns."""
    return {name: np.array([cell[name] for cell in cells]) for name in cells[0]} if cells else {}


def _each(whole: Parts, count: int) -> list[Parts]:
    """One of the same kind for each row, of plain numbers."""
    columns = [np.broadcast_to(getattr(whole, part.name), (count,)).tolist() for part in fields(whole)]
    return [type(whole)(*row) for row in zip(*columns, strict=True)]
