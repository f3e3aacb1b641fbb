"""Which number a report calls peak memory: they differ by the allocator's slack, the context, and the rank."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.plan.memory.peak import at_stage, peak
from clusterwright.plan.numbers import larger, smaller

if TYPE_CHECKING:
    from clusterwright.plan.memory.coefficients import Coefficients
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run


class Definition(StrEnum):
    """What was read, and where."""

    ALLOCATED = "allocated"  # torch.cuda.max_memory_allocated of the fullest GPU
    LAST_RANK = "last-rank"  # the same of the last rank: where Megatron writes its own log
    RESERVED = "reserved"  # torch.cuda.max_memory_reserved of the fullest GPU
    TOTAL = "total"  # nvidia-smi of the fullest GPU


def reported(run: Run, definition: Definition, fitted: Coefficients | None = None) -> Real:
    """Peak memory in bytes as such a report would print it.

    The allocator gives cached blocks back before it fails: what is reserved stays within the GPU if it can.
    """
    if definition is Definition.LAST_RANK:
        return at_stage(run, run.layout.pp - 1, fitted).allocated
    fullest = peak(run, fitted)
    if definition is Definition.ALLOCATED:
        return fullest.allocated
    beyond = 0.0 if definition is Definition.RESERVED else fullest.context
    room = larger(run.machine.gpu.usable_bytes - fullest.context, fullest.allocated)
    return smaller(fullest.allocated + fullest.fragmentation, room) + beyond
