"""The planner: hardware to buy, parallel layouts, cost, memory and speed of trainings. No input or output.

`training` and `machine` return the inputs of `search` (the fastest layout) and `fabric` (networks); `size` finds the
fewest GPUs for a deadline, and `cost` compares owning and renting. The modules of these functions import the rest
of the package when a function is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from clusterwright.plan.cost.cost import cost
from clusterwright.plan.fabric.fabric import fabric
from clusterwright.plan.inputs import machine, training
from clusterwright.plan.search.fastest import search
from clusterwright.plan.sizing.size import size

if TYPE_CHECKING:
    from clusterwright.plan.machines import Wiring
    from clusterwright.plan.search.options import Options as SearchOptions
    from clusterwright.plan.sizing.answer import Sharing
    from clusterwright.plan.sizing.workload import WorkloadRequest

__all__ = [
    "SearchOptions",
    "Sharing",
    "Wiring",
    "WorkloadRequest",
    "cost",
    "fabric",
    "machine",
    "search",
    "size",
    "training",
]
_CLASSES = {
    "SearchOptions": ("search.options", "Options"),
    "Sharing": ("sizing.answer", "Sharing"),
    "Wiring": ("machines", "Wiring"),
    "WorkloadRequest": ("sizing.workload", "WorkloadRequest"),
}

if not TYPE_CHECKING:  # a type checker sees the imports above, and reports other names

    def __getattr__(name: str) -> object:
        if name not in _CLASSES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, original = _CLASSES[name]
        return getattr(import_module(f"{__name__}.{module}"), original)
