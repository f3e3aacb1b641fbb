"""Bubbles against their closed forms, and stages as their layers fall."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterwright.plan.run import Layout, Machine, Network, Run, Schedule
from clusterwright.plan.speed import iteration
from clusterwright.plan.speed.ends import Ends
from clusterwright.plan.speed.layers import LayerTime, Parts
from clusterwright.plan.speed.pipeline import Stages, bubble, fill, microbatches, stages

ONE = LayerTime(Parts(compute=1.0), Parts(compute=2.0), 0.0)  # F 1, B 1, W 1
NOTHING = Ends(0.0, 0.0, 0.0)


def evenly(run: Run, **changes: object) -> tuple[Run, Stages]:
    """The run with another layout, and its stages when the ends cost nothing."""
    other = replace(run, layout=replace(run.layout, **changes))
    return other, stages(other, ONE, NOTHING, 0.0)


@pytest.mark.parametrize("stages_of", [2, 4, 8, 16])
def test_one_forward_one_backward_idles_for_all_other_stages(run: Run, stages_of: int) -> None:
    """(p - 1)(F + B + W) of a stage (Narayanan et al. 2104.04473, section 2.2.1)."""
    other, stage = evenly(run, pp=stages_of, interleave=1)
    whole = 96 / stages_of * 3

    assert stage.fullest == stage.average == whole
    assert bubble(other, ONE, stage) == pytest.approx((stages_of - 1) * whole)


@pytest.mark.parametrize("chunks", [1, 2, 3, 4])
def test_interleaving_divides_the_bubble(run: Run, chunks: int) -> None:
    """By the number of chunks (the same, section 2.2.2)."""
    other, stage = evenly(run, pp=8, interleave=chunks)

    assert bubble(other, ONE, stage) == pytest.approx(7 * 36 / chunks)


def test_zero_bubble_schedules_defer_the_weights(run: Run) -> None:
    """With F = B = W: 3 (p - 1) F, then a third of it, then nothing (Qi et al. 2401.10241, table 2)."""
    left = {}
    for schedule in (Schedule.ONE_F_ONE_B, Schedule.ZB_H1, Schedule.ZB_H2):
        other, stage = evenly(run, pp=8, interleave=1, schedule=schedule)
        left[schedule] = fill(other, ONE, stage)

    assert left[Schedule.ZB_H1] == pytest.approx(left[Schedule.ONE_F_ONE_B] / 3)
    assert left[Schedule.ZB_H2] == 0


def test_the_fullest_stage_sets_the_pace(run: Run) -> None:
    """A head worth two layers on the last of four stages: every microbatch waits for it."""
    other = replace(run, layout=replace(run.layout, pp=4, interleave=1))
    stage = stages(other, ONE, Ends(0.0, 6.0, 0.0), 0.0)

    assert stage.fullest == 24 * 3 + 6
    assert bubble(other, ONE, stage) >= microbatches(other) * (stage.fullest - stage.average)


def test_embedding_and_head_take_slots_where_layers_leave_them(llama: Run) -> None:
    """126 layers on 16 stages are 8 a stage, the first and last with 7 (LLaMA-3 405B, 2407.21783)."""
    shape = replace(llama.training.architecture, layers=126)
    other = replace(
        llama,
        training=replace(llama.training, architecture=shape),
        layout=replace(llama.layout, pp=16, interleave=1),
    )

    assert stages(other, ONE, NOTHING, 0.0).fullest == 24


def test_layers_that_do_not_divide_leave_a_fuller_stage(run: Run) -> None:
    """96 layers on 5 stages: the fullest has 20."""
    other, stage = evenly(run, pp=5, interleave=1)

    assert stage.fullest == 60
    assert stage.average == pytest.approx(96 * 3 / 5)
    assert bubble(other, ONE, stage) > 0


def test_a_pipeline_that_leaves_its_node_waits_for_the_network(llama: Run) -> None:
    """Stages smaller than a node mostly neighbor over NVLink; the hop between nodes still sets the pace."""
    cut = replace(llama.layout, dp=2, tp=2, pp=16, interleave=1)
    slow = replace(llama.machine, network=Network("ethernet", 1, 3e9))
    inside = replace(cut, dp=1, tp=2, pp=4)

    def sent(layout: Layout, machine: Machine) -> float:
        return float(iteration(replace(llama, layout=layout, machine=machine)).pipeline_comm)

    assert sent(cut, slow) > 10 * sent(cut, llama.machine)
    assert sent(inside, slow) == sent(inside, llama.machine)
