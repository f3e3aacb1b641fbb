"""What a search may choose from; whatever is left None is searched."""

from __future__ import annotations

from dataclasses import dataclass, field

from clusterwright.plan.run import Offload, Recompute, Schedule, Stack


@dataclass(frozen=True, slots=True)
class Options:
    """Bounds of the space. A fixed size is kept as it is; tuples hold the choices."""

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
    node_shards: bool = True  # HSDP too: ZeRO's shards inside a node, copies across nodes
    recompute: tuple[Recompute, ...] = (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL)
    # Weights in host memory (Offload.ALL) only on request: the time model has no transfers of theirs.
    offload: tuple[Offload, ...] = (Offload.NONE, Offload.OPTIMIZER)
    schedules: tuple[Schedule, ...] = (Schedule.ONE_F_ONE_B, Schedule.ZB_H1)
    uneven: bool = True  # pipeline stages may differ by a layer
    advise: bool = False  # where nothing fits, try what would help: some more searches
    top: int = 10  # how many layouts are ranked
    lot: int = (
        100_000  # layouts looked at in one go: fewer cost calls, more leave the cache (bench/search.py)
    )
    stack: Stack = field(default_factory=Stack)

    def fixed(self, name: str) -> int | None:
        """The size that the user fixed: tp, pp, cp, ep, etp, dp, micro_batch or interleave."""
        value: int | None = getattr(self, name)
        return value
