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


def test_reserved_stays_within_the_gpu_if_it_can(plan_of):
    """A run that nearly fills the GPU shows no more than the GPU has; one that is too large shows its size."""
    tight, large = plan_of(recompute=0), plan_of(recompute=0, micro_batch=4)
    limit = tight.machine.gpu.usable_bytes
    assert peak(tight).allocated + peak(tight).context < limit < peak(tight).total

    assert reported(tight, Definition.TOTAL) == limit
    assert reported(large, Definition.TOTAL) == peak(large).allocated + peak(large).context
