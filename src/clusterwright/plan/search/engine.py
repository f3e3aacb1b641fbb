"""The search: memory of every layout, a floor under its time, and the whole model for those that could matter.

Exact: a layout is left out only when it does not fit, or when its floor lies above everything it could change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterwright.plan.memory import peak_bytes
from clusterwright.plan.run import Run
from clusterwright.plan.search.kept import Kept, families
from clusterwright.plan.search.meshes import Mesh
from clusterwright.plan.search.outcome import Counts
from clusterwright.plan.search.plans import SCHEDULES
from clusterwright.plan.search.space import Array, Block, Rows, block_of, decided, rows_of
from clusterwright.plan.speed import iteration

if TYPE_CHECKING:
    from clusterwright.plan.run import Layout, Machine, Schedule, Training
    from clusterwright.plan.search.options import Options

CELLS = 60_000  # layouts of one block: arrays of half a MB, which stay in the cache of one core


class Lot(NamedTuple):
    """Rows under one schedule, and the time below which no layout of a row and its recompute goes."""

    rows: Rows
    schedule: Schedule
    floor: Array  # of shape (rows, choices of recompute); infinite where there is no layout

    @property
    def least(self) -> float:
        """The least time any layout of the lot takes."""
        return float(self.floor.min())


@dataclass(slots=True)
class Found:
    """What a search has in hand."""

    kept: Kept
    nearest: dict[int, dict[str, Any]] = field(
        default_factory=dict
    )  # least memory of a family that never fits
    considered: int = 0
    decided: int = 0
    too_large: int = 0
    evaluated: int = 0

    def counts(self, indivisible: dict[str, int]) -> Counts:
        """As the outcome has them."""
        bounded = self.considered - self.too_large - self.evaluated
        return Counts(self.considered, self.too_large, bounded, self.evaluated, self.decided, indivisible)


@dataclass(frozen=True, slots=True)
class Searcher:
    """One question, with the meshes that divide it."""

    training: Training
    machine: Machine
    options: Options
    meshes: list[Mesh]

    def run(self) -> Found:
        """Everything worth knowing of all layouts."""
        found = Found(Kept(self.options.top))
        with np.errstate(
            divide="ignore", invalid="ignore", over="ignore"
        ):  # `pick` computes both of its sides
            for lot in self._in_order():
                self._look(lot, found)
        return found

    def plan(self, layout: Layout) -> Run:
        """The run of a layout."""
        return Run(self.training, layout, self.machine, self.options.stack)

    def _block(self, rows: Rows, schedule: Schedule) -> Block:
        return block_of(rows, self.training, self.machine, self.options, schedule)

    def _in_order(self) -> list[Lot]:
        """Small lots of rows, those that could be fastest first."""
        groups = rows_of(self.meshes, self.training, self.options)
        lots = (
            lot
            for rows in groups
            for schedule in self.options.schedules
            for lot in self._lots(rows, schedule)
        )
        return sorted(lots, key=lambda lot: lot.least)

    def _lots(self, rows: Rows, schedule: Schedule) -> Iterator[Lot]:
        block = self._block(rows, schedule)
        if not block.valid.any():
            return
        floor = np.where(block.valid.any(axis=(2, 3, 4)), self._floor(block), np.inf)
        order = np.argsort(floor.min(axis=1), kind="stable")
        size = max(1, CELLS * len(rows) // block.valid.size)
        for start in range(0, len(rows), size):
            part = order[start : start + size]
            if np.isfinite(floor[part[0]]).any():
                yield Lot(rows.take(part), schedule, floor[part])

    def _floor(self, block: Block) -> Array:
        """Seconds that no layout of a row and its recompute goes below: its layers, without what else there is."""
        plain = replace(block.layout, zero=0, shard=0, interleave=1, offload=0)
        time = iteration(self.plan(plain))
        parts = (
            time.ideal, time.inefficiency, time.recompute, time.memory_bound, time.tensor_parallel,
            time.context_parallel, time.expert_parallel,
        )  # fmt: skip
        return np.broadcast_to(sum(parts), (*block.valid.shape[:2], 1, 1, 1))[:, :, 0, 0, 0]

    def _look(self, lot: Lot, found: Found) -> None:
        """One lot: memory of all, time of those rows that have a layout that fits and could matter."""
        block = self._block(lot.rows, lot.schedule)
        memory = self._memory(block)
        fits = block.valid & (memory <= self.machine.gpu.usable_bytes)
        considered, fitting = int(np.count_nonzero(block.valid)), int(np.count_nonzero(fits))
        found.considered += considered
        found.decided += decided(block)
        found.too_large += considered - fitting
        family = self._family(block)
        self._remember_nearest(block, memory, family, found)
        floor = lot.floor[:, :, None, None, None]
        could: Array = np.any(fits & found.kept.matters(floor, memory, family), axis=(1, 2, 3, 4))
        if could.any():
            self._predict(self._block(lot.rows.take(could), lot.schedule), memory[could], fits[could], found)

    def _predict(self, block: Block, memory: Array, fits: Array, found: Found) -> None:
        """The whole model for a block; what matters is kept."""
        found.evaluated += int(np.count_nonzero(fits))
        family = self._family(block)
        time = np.broadcast_to(iteration(self.plan(block.layout)).total, fits.shape)
        where = np.flatnonzero(fits & found.kept.matters(time, memory, family))
        at = np.unravel_index(where, fits.shape)
        predicted = {
            "time": time[at],
            "memory": memory[at],
            "family": np.broadcast_to(family, fits.shape)[at],
            "schedule": np.full(where.shape, SCHEDULES.index(block.layout.schedule)),
        }
        found.kept.add(block.columns(at) | predicted)

    def _memory(self, block: Block) -> Array:
        """Bytes of the fullest GPU, of the block's full shape."""
        return np.broadcast_to(np.asarray(peak_bytes(self.plan(block.layout))), block.valid.shape)

    @staticmethod
    def _family(block: Block) -> Array:
        cut = block.layout
        return families({name: getattr(cut, name) for name in ("tp", "pp", "cp", "ep", "zero", "offload")})

    def _remember_nearest(self, block: Block, memory: Array, family: Array, found: Found) -> None:
        """The layout of least memory of each family of which none has fitted."""
        missing = [code for code in np.unique(family) if not np.isfinite(found.kept.of_family[code])]
        for code in missing:
            mine = np.where(block.valid & (family == code), memory, np.inf)
            at = np.unravel_index([int(np.argmin(mine))], mine.shape)
            least = float(mine[at][0])
            if np.isfinite(least) and least < found.nearest.get(code, {"memory": np.inf})["memory"]:
                cell = {name: float(column[0]) for name, column in block.columns(at).items()}
                schedule = SCHEDULES.index(block.layout.schedule)
                found.nearest[code] = cell | {"memory": least, "schedule": schedule, "family": int(code)}
