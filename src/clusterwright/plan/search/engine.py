"""The search: memory of every layout, a floor under its time, and the whole model for those that could matter.

Exact: a layout is left out only when it does not fit, or when its floor lies above everything it could change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterwright.plan.run import Run, Schedule
from clusterwright.plan.search.kept import SCHEDULES, Kept
from clusterwright.plan.search.meshes import Mesh
from clusterwright.plan.search.outcome import Counts
from clusterwright.plan.search.room import Fitting, Room, family_of
from clusterwright.plan.search.space import Array, Block, Rows, block_of, rows_of
from clusterwright.plan.speed import iteration

if TYPE_CHECKING:
    from clusterwright.plan.run import Layout, Machine, Training
    from clusterwright.plan.search.options import Options


class Lot(NamedTuple):
    """Some rows of which a layout fits, and the time below which no layout of a row and its recompute goes."""

    part: Fitting
    floor: Array  # of shape (rows, choices of recompute, 1, 1)


@dataclass(slots=True)
class Found:
    """What a search has in hand."""

    kept: Kept
    room: Room
    evaluated: int = 0

    def counts(self, indivisible: dict[str, int]) -> Counts:
        """As the outcome has them."""
        room = self.room
        bounded, too_large = room.fitting - self.evaluated, room.considered - room.fitting
        return Counts(room.considered, too_large, bounded, self.evaluated, room.decided, indivisible)


@dataclass(frozen=True, slots=True)
class Searcher:
    """One question, with the meshes that divide it."""

    training: Training
    machine: Machine
    options: Options
    meshes: list[Mesh]

    def run(self) -> Found:
        """Everything worth knowing of all layouts."""
        room = Room(self.plan, self._block, self.machine.gpu.usable_bytes, self.options.lot)
        found = Found(Kept(self.options.top), room)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # `pick` computes both its sides
            for lot in self._in_order(room):
                self._look(lot, found)
        return found

    def plan(self, layout: Layout) -> Run:
        """The run of a layout."""
        return Run(self.training, layout, self.machine, self.options.stack)

    def _block(self, rows: Rows, schedule: Schedule) -> Block:
        return block_of(rows, self.training, self.machine, self.options, schedule)

    def _in_order(self, room: Room) -> list[Lot]:
        """Small lots of what fits, those that could be fastest first."""
        lots: list[Lot] = []
        for rows in rows_of(self.meshes, self.training, self.options):
            fitting = [room.look(rows, each, len(self.meshes)) for each in self.options.schedules]
            if any(fitting):
                floor = self.floor(rows)
                lots += [lot for part in fitting if part for lot in self._lots(part, floor)]
        return sorted(lots, key=lambda lot: float(lot.floor.min()))

    def floor(self, rows: Rows) -> Array:
        """Seconds that no layout of a row and its recompute goes below: its layers, without what else there is.

        Of shape (rows, choices of recompute, 1, 1); the same under every schedule.
        """
        layout = self._block(rows, Schedule.ONE_F_ONE_B).layout
        time = iteration(self.plan(replace(layout, zero=0, shard=0, interleave=1, offload=0)))
        parts = (
            time.ideal, time.inefficiency, time.recompute, time.memory_bound, time.tensor_parallel,
            time.context_parallel, time.expert_parallel,
        )  # fmt: skip
        choices = np.size(layout.recompute)
        return np.broadcast_to(np.asarray(sum(parts)), (len(rows), choices, 1, 1))

    def _lots(self, whole: Fitting, floors: Array) -> Iterator[Lot]:
        floor = floors[whole.rows.columns["row"].astype(int)]
        floor = np.where(whole.fits.any(axis=(2, 3), keepdims=True), floor, np.inf)
        order = np.argsort(floor.min(axis=(1, 2, 3)), kind="stable")
        size = max(1, self.options.lot * len(order) // whole.fits.size)
        for start in range(0, len(order), size):
            at = order[start : start + size]
            rows, memory = whole.rows.take(at), whole.memory[at]
            yield Lot(Fitting(rows, whole.schedule, memory, whole.fits[at]), floor[at])

    def _look(self, lot: Lot, found: Found) -> None:
        """Time of those rows of a lot that have a layout that fits and could matter."""
        part = lot.part
        family = family_of(self._block(part.rows, part.schedule))
        matters = found.kept.matters(lot.floor, part.memory, family)
        could: Array = np.any(part.fits & matters, axis=(1, 2, 3))
        if could.any():
            rows = part.rows.take(could)
            self._predict(Fitting(rows, part.schedule, part.memory[could], part.fits[could]), found)

    def _predict(self, part: Fitting, found: Found) -> None:
        """The whole model for some rows; what matters is kept."""
        found.evaluated += int(np.count_nonzero(part.fits))
        block = self._block(part.rows, part.schedule)
        family = family_of(block)
        time = np.broadcast_to(np.asarray(iteration(self.plan(block.layout)).total), part.fits.shape)
        where = np.flatnonzero(part.fits & found.kept.matters(time, part.memory, family))
        at = np.unravel_index(where, part.fits.shape)
        predicted = {
            "time": time[at],
            "memory": part.memory[at],
            "family": np.broadcast_to(family, part.fits.shape)[at],
            "schedule": np.full(where.shape, SCHEDULES.index(part.schedule)),
        }
        found.kept.add(block.columns(at) | predicted)
