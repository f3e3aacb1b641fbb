"""The layout that a size is judged by."""

import pytest

from clusterwright.catalog import architecture, gpu
from clusterwright.plan.machines import machine
from clusterwright.plan.run import Offload, Training
from clusterwright.plan.sizing.fewest import Assumptions, fewest, on_existing, searched
from clusterwright.plan.sizing.workload import Workload

SMALL = Training(architecture("llama2-7b"), 2048, 64, task="sft")


def test_the_layout_uses_all_gpus_and_its_range_holds_its_time():
    """Dp x tp x pp x cp is the number of GPUs; P10 below, P90 above."""
    cut = searched(SMALL, machine(gpu("a100"), 16))

    assert cut.layout.gpus == 16
    assert cut.span_s[0] < float(cut.time.total) < cut.span_s[1]


def test_what_divides_nothing_is_none():
    """37 GPUs, 32 layers and a batch of 64."""
    assert searched(SMALL, machine(gpu("a100"), 37)) is None


def test_offload_is_the_last_resort():
    """Without it 7 B parameters do not fit on two cards of 24 GB; with it they may."""
    cards = machine(gpu("rtx-4090"), 2)

    assert searched(SMALL, cards) is None
    assert on_existing(SMALL, cards).layout.offload > Offload.NONE


@pytest.mark.parametrize("hours", [(0.5, 1), (1, 2), (2, 12)])
def test_more_time_takes_no_more_gpus_with_the_real_planner(hours):
    """The law of the fewest, on the models themselves."""
    work = Workload(SMALL, 52_000)
    means = Assumptions(searched, machine)

    early, late = (fewest(work, gpu("a100"), each * 3600, means) for each in hours)
    assert early.gpus >= late.gpus
    assert early.hours <= hours[0]
