"""The size, and the cluster around it."""

import math
from dataclasses import replace

import pytest

from clusterwright.plan.run import Machine
from clusterwright.plan.sizing.answer import Sharing, for_deadline, on_cluster

DAY = 86400


def test_being_sure_takes_no_fewer_gpus(work, gpu, means):
    """The slow end of the prediction meets the deadline, too."""
    made = for_deadline(work, gpu, DAY, means, Sharing())

    assert made.in_time
    assert made.sure.gpus >= made.sized.gpus
    assert made.sure.hours_range[1] <= 24
    assert made.nodes == made.sized.nodes


@pytest.mark.parametrize("headroom", [0.0, 0.3, 0.6])
def test_three_teams_get_what_three_times_the_nodes_are(work, gpu, means, headroom):
    """And the head-room on top."""
    made = for_deadline(work, gpu, DAY, means, Sharing(3, headroom))

    assert made.nodes >= 3 * made.sized.nodes / (1 - headroom) - 1e-9
    assert made.shared.nodes == made.nodes


def test_headroom_alone_counts_too(work, gpu, means):
    """One team, a third free."""
    made = for_deadline(work, gpu, DAY, means, Sharing(1, 0.5))

    assert made.nodes == 2 * made.sized.nodes


def test_machines_that_are_there_are_only_timed(work, gpu, means):
    """Without a deadline any time is in time."""
    made = on_cluster(work, Machine(gpu, 16), math.inf, means, Sharing())

    assert made.in_time
    assert made.sized.gpus == 16


def test_what_does_not_fit_is_none(work, gpu, means):
    """More GPUs than sequences, with this planner."""
    assert on_cluster(work, Machine(gpu, 1024), DAY, means, Sharing()) is None


def test_a_cluster_that_is_too_slow_is_not_in_time(work, gpu, means):
    """And not sure either."""
    made = on_cluster(work, Machine(gpu, 1), 60, means, Sharing())

    assert not made.in_time
    assert made.sure is None


def test_idle_gpus_are_told(work, gpu, means):
    """GPUs ten times as fast wait for the part that does not get shorter; the others have no such note."""
    fast = replace(gpu, peak={"bf16": 3000e12})
    busy, idle = (on_cluster(work, Machine(each, 512), math.inf, means, Sharing()) for each in (gpu, fast))

    assert idle.sized.utilization < 0.2 < busy.sized.utilization
    assert not any("larger --global-batch" in note for note in busy.notes)
    assert any("larger --global-batch" in note for note in idle.notes)
