"""The fewest GPUs before a deadline."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import WrightError
from clusterwright.plan.run import Machine
from clusterwright.plan.sizing.fewest import as_the_gpu_can, fewest, least_s, sized, sizes

HOUR = 3600


def test_sizes_fill_a_node_first_and_grow_by_an_eighth_at_most():
    """1, 2, 4, then whole nodes: all up to 16, then eight in each doubling."""
    found = list(sizes(8, 2048))

    assert found[:6] == [1, 2, 4, 8, 16, 24]
    assert found[-1] == 2048 * 8
    assert all(after / before <= 1.125 for before, after in pairwise(found[18:]))


@given(st.floats(1, 200), st.floats(1, 200))
def test_more_time_never_takes_more_gpus(work, gpu, means, one, other):
    """A later deadline is met by whatever met the earlier one."""
    found = []
    for hours in sorted((one, other)):
        try:
            found.append(fewest(work, gpu, hours * HOUR, means).gpus)
        except WrightError:
            found.append(math.inf)

    assert found[0] >= found[1]


def test_the_size_found_meets_the_deadline_and_the_next_smaller_does_not(work, gpu, means):
    """The fewest, not just enough."""
    found = fewest(work, gpu, 24 * HOUR, means)
    smaller = max(size for size in sizes(8, 2048) if size < found.gpus)

    assert found.hours <= 24
    assert sized(work, Machine(gpu, smaller), means).hours > 24
    assert found.gpu_hours == pytest.approx(found.hours * found.gpus)
    assert found.hours_range[0] < found.hours < found.hours_range[1]


def test_no_time_beats_the_bound(work, gpu, means):
    """What is skipped could not have been in time."""
    for gpus in (1, 8, 64):
        assert least_s(work, gpu, gpus) < sized(work, Machine(gpu, gpus), means).hours * HOUR


def test_fewer_gpus_than_a_node_are_still_a_whole_node(work, gpu, means):
    """Nobody sells a quarter of one."""
    found = sized(work, Machine(gpu, 2), means)

    assert (found.gpus, found.nodes) == (2, 1)


def test_an_impossible_deadline_says_what_would_do(work, gpu, means):
    """The batch is the limit here: 512 sequences keep 512 GPUs busy and no more."""
    with pytest.raises(WrightError, match=r"deadline-impossible.*fastest is .* h on 512 GPUs") as caught:
        fewest(work, gpu, 240, means)

    assert caught.value.exit_code == 2
    assert "larger --global-batch than 512" in str(caught.value)


def test_a_deadline_below_the_peak_rate_is_told_so(work, gpu, means):
    """No layout is even tried."""
    with pytest.raises(WrightError, match="not possible on 2048 nodes of g1-80gb, even at its peak rate"):
        fewest(work, gpu, 1, means)


def test_a_model_that_fits_nowhere_is_told_so(work, gpu, means):
    """Not the deadline's fault."""
    with pytest.raises(WrightError, match="size-does-not-fit"):
        fewest(work, gpu, 1000 * HOUR, replace(means, plan=lambda *_: None))


def test_failures_make_it_longer(work, gpu, means):
    """Hours hold the checkpoints and the restarts."""
    quick, slow = (
        sized(work, Machine(gpu, 64), replace(means, node_write_bytes_per_s=rate)) for rate in (3e9, 3e6)
    )

    assert quick.hours < slow.hours
    assert 0 < slow.goodput.share < quick.goodput.share < 1


def test_the_last_batch_of_an_epoch_counts_whole(work):
    """1,000,001 samples in batches of 512 are 1,954 steps, twice over."""
    assert replace(work, samples=1_000_001, epochs=2).steps == 2 * 1954


def test_a_gpu_without_bf16_trains_in_fp16(work, gpu):
    """V100 and T4; the others keep what was asked."""
    old = replace(gpu, peak={"fp16": 125e12, "fp32": 15e12})

    assert as_the_gpu_can(work, old).training.precision == "fp16"
    assert as_the_gpu_can(work, gpu) == work


def test_a_precision_without_units_is_refused(work, gpu):
    """fp8 on a GPU of bf16."""
    asked = replace(work, training=replace(work.training, precision="fp8"))

    with pytest.raises(WrightError, match="g1-80gb has no matrix units for fp8"):
        as_the_gpu_can(asked, gpu)


def test_smaller_nodes_fail_less_often(work, gpu, means):
    """Failures go with the GPUs."""
    eight, four = (sized(work, Machine(gpu, 16, each), means).goodput.mtbf_s for each in (8, 4))

    assert four == eight


def test_slow_nodes_hold_all_up(work, gpu, means):
    """By no more than they are slow, and more of them the more nodes there are."""
    well = sized(work, Machine(gpu, 512), means)
    few, many = (sized(work, Machine(gpu, gpus), replace(means, slow_share=0.02)) for gpus in (64, 512))

    assert well.hours < many.hours < 1.101 * well.hours
    assert 1 < few.slowdown < many.slowdown < 1.1
