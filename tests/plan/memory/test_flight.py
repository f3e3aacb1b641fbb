from __future__ import annotations

import pytest

from clusterwright.plan.memory.stage import in_flight, microbatches
from clusterwright.plan.run import Schedule


def test_microbatches(plan_of):
    """A replica's share of the batch, in microbatches."""
    run = plan_of("llama", dp=8, micro_batch=2, global_batch=512)

    assert microbatches(run.training, run.layout) == 32


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Schedule.ONE_F_ONE_B, [4, 3, 2, 1]),
        (Schedule.ZB_H1, [4, 4, 4, 4]),
        (Schedule.ZB_H2, [8, 8, 8, 8]),
        (Schedule.ZB_V, [4, 4, 4, 4]),
        (Schedule.AFAB, [64, 64, 64, 64]),
        (Schedule.DUALPIPE, [2.5, 2.5, 2.5, 2.5]),
    ],
)
def test_in_flight_by_schedule(plan_of, schedule, expected):
    """As the papers of the schedules count them, on four stages."""
    run = plan_of("llama", pp=4, schedule=schedule)

    assert [in_flight(run.training, run.layout, index) for index in range(4)] == expected


def test_interleaved_warm_up(plan_of):
    """Three chunks on four stages: 15 chunks of the first stage are alive, as Megatron-Core warms up."""
    run = plan_of("llama", pp=4, interleave=3)

    assert in_flight(run.training, run.layout, 0) == 15 / 3
    assert in_flight(run.training, run.layout, 3) == 9 / 3


def test_never_more_than_there_are(plan_of):
    """Two microbatches cannot be four in flight."""
    run = plan_of("llama", pp=4, dp=8, global_batch=16)

    assert in_flight(run.training, run.layout, 0) == 2
