from __future__ import annotations

import pytest

from clusterwright.plan.memory import Definition, peak, reported, stages


def test_definitions(plan_of):
    """Allocated, reserved and nvidia-smi's figure each hold the one before; the last rank's is its own stage's."""
    run = plan_of(pp=4)
    whole = peak(run)

    assert reported(run, Definition.ALLOCATED) == whole.allocated
    assert reported(run, Definition.RESERVED) == whole.allocated + whole.fragmentation
    assert reported(run, Definition.TOTAL) == pytest.approx(whole.total)
    assert reported(run, Definition.LAST_RANK) == stages(run)[-1].allocated
