from __future__ import annotations

from dataclasses import replace

import pytest

from clusterwright.plan.memory import MemoryFit, classify_fit
from clusterwright.plan.memory.overheads import stored
from clusterwright.plan.prediction import Memory

FITTED = replace(stored(), typical=0.04, spread=0.08)


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.5, MemoryFit.FITS), (0.95, MemoryFit.TIGHT), (1.02, MemoryFit.TIGHT), (1.05, MemoryFit.OOM)],
)
def test_fits(plan_of, share, expected):
    """Well below the limit it fits; closer than predictions are sure it is tight; clearly above it does not."""
    gpu = plan_of().machine.gpu
    memory = Memory(share * gpu.usable_bytes, 0, 0, 0, 0, 0, 0)

    assert classify_fit(memory, gpu, FITTED) is expected
