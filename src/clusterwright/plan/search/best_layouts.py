"""The layouts that a search retains: the fastest ones, the fastest of each mesh and family, the Pareto set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clusterwright.plan.memory import peak
from clusterwright.plan.prediction import Memory, Time
from clusterwright.plan.run import Layout, Run, Schedule
from clusterwright.plan.search.outcome import LayoutFamily, Plan
from clusterwright.plan.search.space import CHOICES, FIELDS
from clusterwright.plan.speed import iteration

if TYPE_CHECKING:
    from clusterwright.plan.search.space import Array


FAMILIES = tuple(LayoutFamily)
# Ties, times equal to nine digits, are ordered by memory, then by these fields, smaller first.
DIGITS = 9
SLACK = 1 + 10.0 ** (1 - DIGITS)  # times closer than this may tie
TIE_ORDER = (
    "pp", "tp", "cp", "ep", "etp", "offload", "recompute", "zero", "shard", "interleave", "schedule",
    "micro_batch", "sequence_parallel",
)  # fmt: skip


def rounded(values: Array) -> Array:
    """Round to nine significant digits, to which sums in different order agree."""
    scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.maximum(values, 1e-30))))
    return np.round(values * scale) / scale


def families(columns: dict[str, Array]) -> Array:
    """Return the index of each layout's family, in the order of `LayoutFamily`."""
    tp, pp = columns["tp"] > 1, columns["pp"] > 1
    conditions = (
        columns["offload"] > 0,
        columns["ep"] > 1,
        columns["cp"] > 1,
        tp & pp,
        tp,
        pp,
        columns["zero"] > 0,
    )
    code: Array = np.select(np.broadcast_arrays(*conditions), range(len(conditions)), default=len(conditions))
    return code


@dataclass(slots=True)
class BestLayouts:
    """The sorted table of retained layouts, and the limits beyond which a layout cannot enter it."""

    top: int
    columns: dict[str, Array] = field(default_factory=dict)
    of_family: Array = field(default_factory=lambda: np.full(len(FAMILIES), np.inf))
    slowest_mesh: float = np.inf  # of the `top` fastest meshes
    front_times: Array = field(default_factory=lambda: np.zeros(0))
    front_memory: Array = field(default_factory=lambda: np.zeros(0))  # falls as time grows

    def add(self, columns: dict[str, Array]) -> None:
        """Add layouts with columns `time`, `memory`, `mesh` and `family`; drop those no longer among the best.

        The best are the fastest, the fastest of each mesh and family, and the Pareto front of time and memory.
        """
        if self.columns:
            columns = {name: np.concatenate([self.columns[name], columns[name]]) for name in columns}
        order = _order(columns)
        columns = {name: column[order] for name, column in columns.items()}
        mask = np.zeros(len(columns["time"]), bool)
        mask[: self.top] = True
        mesh_first = _first_of(columns["mesh"])[: self.top]
        family_first = _first_of(columns["family"])
        front = self.front(columns)
        mask[mesh_first] = mask[family_first] = mask[front] = True
        times, codes = columns["time"], columns["family"]
        self.of_family[codes[family_first].astype(int)] = times[family_first]
        self.slowest_mesh = float(times[mesh_first[-1]]) if len(mesh_first) == self.top else np.inf
        self.front_times, self.front_memory = times[front], columns["memory"][front]
        self.columns = {name: column[mask] for name, column in columns.items()}

    def matters(self, time: Array, memory: Array, family: Array) -> Array:
        """Return a mask of the layouts that may be among the best, by a lower bound of their time, and by memory.

        They would be fast enough for their mesh or family, or are on the Pareto front.
        """
        fast = (time <= self.slowest_mesh * SLACK) | (time <= self.of_family[family] * SLACK)
        if not len(self.front_times):
            return np.full(np.broadcast_shapes(np.shape(fast), np.shape(memory)), fill_value=True)
        index = np.searchsorted(self.front_times, time / SLACK, side="right") - 1
        to_beat = np.where(index >= 0, self.front_memory[np.maximum(index, 0)], np.inf)
        return fast | (memory < to_beat)

    @staticmethod
    def front(columns: dict[str, Array]) -> Array:
        """Return the indices of the Pareto set of a sorted table: less memory than all faster layouts."""
        memory = columns["memory"]
        least_memory = np.concatenate([[np.inf], np.minimum.accumulate(memory)[:-1]])
        return np.flatnonzero(memory < least_memory)

    def fastest_of(self, name: str) -> Array:
        """Return the indices of the fastest layout of each value of column `name` (mesh or family), by time."""
        return _first_of(self.columns[name]) if self.columns else np.zeros(0, int)


def _order(columns: dict[str, Array]) -> Array:
    keys = [columns[name] for name in reversed(TIE_ORDER)]
    return np.lexsort([*keys, rounded(columns["memory"]), rounded(columns["time"])])


def _first_of(labels: Array) -> Array:
    """Return the index of the first occurrence of each label, in the order of the table."""
    return np.sort(np.unique(labels, return_index=True)[1])


SCHEDULES = tuple(Schedule)
Parts = TypeVar("Parts", Memory, Time)


def plans(run_of: Callable[[Layout], Run], columns: Mapping[str, Array]) -> list[Plan]:
    """Predict time and memory of each row of a table with FIELDS, CHOICES, `schedule` and `family`."""
    plans_by_index: dict[int, Plan] = {}
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # `pick` computes both of its sides
        for code in np.unique(columns["schedule"]):
            positions = np.flatnonzero(columns["schedule"] == code)
            rows: dict[str, Any] = {name: columns[name][positions] for name in (*FIELDS, *CHOICES)}
            run = run_of(Layout(**rows, schedule=SCHEDULES[int(code)]))
            parts = zip(
                _split_rows(iteration(run), len(positions)),
                _split_rows(peak(run), len(positions)),
                strict=True,
            )
            for index, (position, (time, memory)) in enumerate(zip(positions.tolist(), parts, strict=True)):
                values: dict[str, Any] = {name: int(column[index]) for name, column in rows.items()}
                layout = Layout(**values, schedule=SCHEDULES[int(code)])
                plans_by_index[position] = Plan(
                    run_of(layout), FAMILIES[int(columns["family"][position])], time, memory
                )
    return [plans_by_index[position] for position in sorted(plans_by_index)]


def table(cells: list[dict[str, Any]]) -> dict[str, Array]:
    """Convert a list of rows with equal keys to a table of columns; empty without rows."""
    return {name: np.array([cell[name] for cell in cells]) for name in cells[0]} if cells else {}


def _split_rows(combined: Parts, count: int) -> list[Parts]:
    """Split a `Memory` or `Time` of arrays into one of plain numbers per row."""
    columns = [np.broadcast_to(getattr(combined, part.name), (count,)).tolist() for part in fields(combined)]
    return [type(combined)(*row) for row in zip(*columns, strict=True)]
