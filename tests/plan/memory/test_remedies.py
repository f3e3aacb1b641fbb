from __future__ import annotations

from clusterwright.plan.memory import MemoryFit, classify_fit, ladder, peak
from clusterwright.plan.run import Recompute


def seconds(run):
    """Recomputing costs a third; twice the GPUs take half the time; all else the same."""
    return (1.33 if run.layout.recompute == Recompute.FULL else 1.0) / run.machine.gpus


def test_cheapest_first_and_more_gpus_last(plan_of):
    """Steps stand by the time they cost; each saves, and says by how much."""
    run = plan_of(recompute=Recompute.NONE, micro_batch=2, seq_len=8192)

    steps = ladder(run, seconds)

    words = [step.description for step in steps]
    costs = [step.slower for step in steps[:-1]]
    assert words[-1] == "use 16 GPUs"
    assert costs == sorted(costs)
    assert all(step.saved_bytes > 0 for step in steps)
    assert "recompute every layer" in words
    assert "saves" in str(steps[0])


def test_together_where_none_does_alone(plan_of):
    """A run far too large: the last remedy is several at once, and it fits or all were taken."""
    run = plan_of(recompute=Recompute.NONE, micro_batch=8, seq_len=16384, flash_attention=False)
    assert classify_fit(peak(run), run.machine.gpu) is MemoryFit.OOM

    *single, together = ladder(run, seconds)

    assert all(step.memory_fit is MemoryFit.OOM for step in single)
    assert ", " in together.description
    assert together.saved_bytes > max(step.saved_bytes for step in single)
    assert together.peak == peak(together.run)


def test_gpus_stay_the_same_but_where_more_are_taken(plan_of):
    """A cut by tp or pp takes its GPUs from the replicas."""
    run = plan_of(recompute=Recompute.NONE)

    for step in ladder(run, seconds):
        assert step.run.layout.gpus == step.run.machine.gpus


def test_nothing_left_to_do(plan_of):
    """A run on one GPU with everything taken has only what its batch allows."""
    run = plan_of(
        dp=1, zero=0, recompute=2, optimizer="adam8bit", gradient_bytes=2, fused_loss=True, offload=2
    )

    assert [step.description for step in ladder(run, seconds)] == []
