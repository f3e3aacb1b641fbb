"""The search engine: memory of every layout, a lower bound of its time, and the full model where that may matter.

The result is exact: a layout is skipped only if it does not fit, or if its lower bound exceeds all limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterwright.plan.run import Run, Schedule
from clusterwright.plan.search.best_layouts import SCHEDULES, BestLayouts
from clusterwright.plan.search.memory_filter import Fitting, MemoryFilter, family_of
from clusterwright.plan.search.meshes import Mesh
from clusterwright.plan.search.outcome import Counts
from clusterwright.plan.search.space import Array, Rows, SearchBlock, block_of, rows_of
from clusterwright.plan.speed import iteration

if TYPE_CHECKING:
    from clusterwright.plan.run import Layout, Machine, Training
    from clusterwright.plan.search.options import Options


class Lot(NamedTuple):
    """A batch of rows with layouts that fit, and a lower bound of time per row and recomputation."""

    part: Fitting
    floor: Array  # of shape (rows, choices of recompute, 1, 1)


@dataclass(slots=True)
class SearchState:
    """Intermediate results of a search."""

    best_layouts: BestLayouts
    memory_filter: MemoryFilter
    evaluated: int = 0

    def counts(self, indivisible: dict[str, int]) -> Counts:
        """Return how many layouts were considered, too large, ruled out by the time bound, evaluated and decided.

        `indivisible`: the numbers of meshes by what they do not divide.
        """
        memory_filter = self.memory_filter
        bounded, too_large = (
            memory_filter.fitting - self.evaluated,
            memory_filter.considered - memory_filter.fitting,
        )
        return Counts(
            memory_filter.considered, too_large, bounded, self.evaluated, memory_filter.decided, indivisible
        )


@dataclass(frozen=True, slots=True)
class Searcher:
    """One search: training, machine, options and the valid meshes."""

    training: Training
    machine: Machine
    options: Options
    meshes: list[Mesh]

    def run(self) -> SearchState:
        """Examine all layouts; return the search's state with the best layouts, the memory filter and its counts."""
        memory_filter = MemoryFilter(self.plan, self._block, self.machine.gpu.usable_bytes, self.options.lot)
        state = SearchState(BestLayouts(self.options.top), memory_filter)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # `pick` computes both its sides
            for lot in self._in_order(memory_filter):
                self._evaluate(lot, state)
        return state

    def plan(self, layout: Layout) -> Run:
        """Return the run with this layout."""
        return Run(self.training, layout, self.machine, self.options.stack)

    def _block(self, rows: Rows, schedule: Schedule) -> SearchBlock:
        return block_of(rows, self.training, self.machine, self.options, schedule)

    def _in_order(self, memory_filter: MemoryFilter) -> list[Lot]:
        """Return batches of rows with layouts that fit, lowest time bound first; empty if none fit."""
        lots: list[Lot] = []
        for rows in rows_of(self.meshes, self.training, self.options):
            fitting = [
                memory_filter.check(rows, schedule, len(self.meshes)) for schedule in self.options.schedules
            ]
            if any(fitting):
                floor = self.floor(rows)
                lots += [lot for part in fitting if part for lot in self._lots(part, floor)]
        return sorted(lots, key=lambda lot: float(lot.floor.min()))

    def floor(self, rows: Rows) -> Array:
        """Return the lower bound in seconds for all layouts of a row and recomputation: the time of its layers only.

        Of shape (rows, choices of recompute, 1, 1); the same for every schedule.
        """
        layout = self._block(rows, Schedule.ONE_F_ONE_B).layout
        time = iteration(self.plan(replace(layout, zero=0, shard=0, interleave=1, offload=0)))
        parts = (
            time.ideal, time.inefficiency, time.recompute, time.memory_bound, time.tensor_parallel,
            time.context_parallel, time.expert_parallel,
        )  # fmt: skip
        choices = np.size(layout.recompute)
        return np.broadcast_to(np.asarray(sum(parts)), (len(rows), choices, 1, 1))

    def _lots(self, fitting: Fitting, floors: Array) -> Iterator[Lot]:
        floor = floors[fitting.rows.columns["row"].astype(int)]
        floor = np.where(fitting.feasible.any(axis=(2, 3), keepdims=True), floor, np.inf)
        order = np.argsort(floor.min(axis=(1, 2, 3)), kind="stable")
        size = max(1, self.options.lot * len(order) // fitting.feasible.size)
        for start in range(0, len(order), size):
            indices = order[start : start + size]
            rows, memory = fitting.rows.select(indices), fitting.memory[indices]
            yield Lot(Fitting(rows, fitting.schedule, memory, fitting.feasible[indices]), floor[indices])

    def _evaluate(self, lot: Lot, state: SearchState) -> None:
        """Predict those rows of a batch of which a layout fits and may be among the best; skip the others.

        `state` gets the results.
        """
        part = lot.part
        family = family_of(self._block(part.rows, part.schedule))
        matters = state.best_layouts.matters(lot.floor, part.memory, family)
        could: Array = np.any(part.feasible & matters, axis=(1, 2, 3))
        if could.any():
            rows = part.rows.select(could)
            self._predict(Fitting(rows, part.schedule, part.memory[could], part.feasible[could]), state)

    def _predict(self, part: Fitting, state: SearchState) -> None:
        """Predict the feasible layouts of these rows with the full model, count them, and retain the best."""
        state.evaluated += int(np.count_nonzero(part.feasible))
        block = self._block(part.rows, part.schedule)
        family = family_of(block)
        time = np.broadcast_to(np.asarray(iteration(self.plan(block.layout)).total), part.feasible.shape)
        positions = np.flatnonzero(part.feasible & state.best_layouts.matters(time, part.memory, family))
        indices = np.unravel_index(positions, part.feasible.shape)
        predicted = {
            "time": time[indices],
            "memory": part.memory[indices],
            "family": np.broadcast_to(family, part.feasible.shape)[indices],
            "schedule": np.full(positions.shape, SCHEDULES.index(part.schedule)),
        }
        state.best_layouts.add(block.columns(indices) | predicted)
