"""Memory filter of the search: which layouts fit, and the one with least memory of each family that never fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterwright.plan.memory import peak_bytes
from clusterwright.plan.search.best_layouts import FAMILIES, SCHEDULES, families
from clusterwright.plan.search.space import Array, Rows, SearchBlock, decided

if TYPE_CHECKING:
    from clusterwright.plan.run import Layout, Run, Schedule


class Fitting(NamedTuple):
    """Rows that have a layout that fits, for one schedule."""

    rows: Rows
    schedule: Schedule
    memory: Array  # bytes, of the shape of a block
    feasible: Array


@dataclass(slots=True)
class MemoryFilter:
    """Compares the memory of all layouts with that of a GPU, and counts them."""

    run_of: Callable[[Layout], Run]
    block_of: Callable[[Rows, Schedule], SearchBlock]
    usable_bytes: float
    lot: int  # layouts per batch
    considered: int = 0
    decided: int = 0
    fitting: int = 0
    fitted: Array = field(default_factory=lambda: np.zeros(len(FAMILIES), bool))
    nearest: dict[int, dict[str, Any]] = field(
        default_factory=dict
    )  # by family: the layout with least memory

    def check(self, rows: Rows, schedule: Schedule, meshes: int) -> Fitting | None:
        """Return the rows that have a layout that fits the memory, None if there are none; count what is examined.

        Memory grows with the microbatch, so a mesh in which nothing fits is not tried with larger ones.
        """
        block = self.block_of(rows, schedule)
        self.considered += int(np.count_nonzero(block.valid))
        self.decided += decided(block)
        if not block.valid.size:
            return None
        hopeless = np.zeros(meshes, bool)
        parts = [part for part in self._parts(block, schedule, hopeless) if len(part.rows)]
        if not parts:
            return None
        merged = Rows(
            {name: np.concatenate([part.rows.columns[name] for part in parts]) for name in rows.columns},
            rows.interleave,
            rows.sequence,
        )
        memory = np.concatenate([part.memory for part in parts])
        return Fitting(merged, schedule, memory, np.concatenate([part.feasible for part in parts]))

    def _parts(self, block: SearchBlock, schedule: Schedule, hopeless: Array) -> Iterator[Fitting]:
        """Yield which layouts fit the memory for small batches of the block's rows, smallest microbatch first.

        Rows of a mesh that is `hopeless` are skipped: nothing fits in it.
        """
        rows = block.rows
        order = np.argsort(rows.columns["micro_batch"], kind="stable")
        size = max(1, self.lot * len(rows) // block.valid.size)
        for start in range(0, len(order), size):
            part = order[start : start + size]
            part = part[~hopeless[rows.columns["mesh"][part].astype(int)]]
            if len(part):
                yield self._part(self.block_of(rows.select(part), schedule), schedule, hopeless)

    def _part(self, block: SearchBlock, schedule: Schedule, hopeless: Array) -> Fitting:
        memory = np.broadcast_to(np.asarray(peak_bytes(self.run_of(block.layout))), block.valid.shape)
        small = memory <= self.usable_bytes
        hopeless[block.rows.columns["mesh"][~small.any(axis=(1, 2, 3))].astype(int)] = True
        feasible = small & block.valid
        self.fitting += int(np.count_nonzero(feasible))
        self._remember(block, memory, feasible)
        some: Array = np.any(feasible, axis=(1, 2, 3))
        return Fitting(block.rows.select(some), schedule, memory[some], feasible[some])

    def _remember(self, block: SearchBlock, memory: Array, feasible: Array) -> None:
        """Record which families of layouts fit the memory; of each that never did, the layout with least memory."""
        family = family_of(block)
        has_feasible = feasible.any(axis=(1, 3), keepdims=True)
        self.fitted[np.broadcast_to(family, has_feasible.shape)[has_feasible]] = True
        missing = [code for code in np.unique(family) if not self.fitted[code]]
        if not missing:
            return
        least = np.where(block.valid, memory, np.inf).min(axis=(1, 3), keepdims=True)
        for code in missing:
            size = float(np.where(family == code, least, np.inf).min())
            if np.isfinite(size) and size < self.nearest.get(code, {"memory": np.inf})["memory"]:
                family_memory = np.where(block.valid & (family == code), memory, np.inf)
                cell_index = np.unravel_index([int(np.argmin(family_memory))], family_memory.shape)
                cell = {name: float(column[0]) for name, column in block.columns(cell_index).items()}
                schedule = SCHEDULES.index(block.layout.schedule)
                self.nearest[code] = cell | {"memory": size, "schedule": schedule, "family": int(code)}


def family_of(block: SearchBlock) -> Array:
    """Return the family index of each layout of a block, as an array that broadcasts over unused axes."""
    layout = block.layout
    return families({name: getattr(layout, name) for name in ("tp", "pp", "cp", "ep", "zero", "offload")})
