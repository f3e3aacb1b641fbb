"""Options of a search; sizes that are None are searched."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.plan.assumptions import STACK
from clusterwright.plan.run import Offload, Recompute, Schedule, Stack


@dataclass(frozen=True, slots=True)
class Options:
    """Bounds of the search space: fixed sizes, and tuples of allowed choices."""

    tp: int | None = None
    pp: int | None = None
    cp: int | None = None
    ep: int | None = None
    etp: int | None = None
    dp: int | None = None
    micro_batch: int | None = None
    interleave: int | None = None
    max_tp: int | None = None  # None: the NVLink domain
    zero: tuple[int, ...] = (0, 1, 2, 3)
    node_shards: bool = True  # also HSDP: ZeRO shards within a node, replicas across nodes
    recompute: tuple[Recompute, ...] = (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL)
    # Weights in host memory (Offload.ALL) only on request: the time model does not include their transfers.
    offload: tuple[Offload, ...] = (Offload.NONE, Offload.OPTIMIZER)
    schedules: tuple[Schedule, ...] = (Schedule.ONE_F_ONE_B, Schedule.ZB_H1)
    uneven: bool = True  # pipeline stages may differ by a layer
    advise: bool = False  # if nothing fits, search for remedies: several more searches
    top: int = 10  # how many layouts are ranked
    lot: int = 100_000  # layouts per batch: fewer cost calls, more exceed the cache (bench/search.py)
    stack: Stack = STACK

    def fixed(self, name: str) -> int | None:
        """Return the user's value of tp, pp, cp, ep, etp, dp, micro_batch or interleave; None if it is searched."""
        value: int | None = getattr(self, name)
        return value
