"""Goodput: what is kept of a training's time when nodes fail."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.plan.cost.goodput import (
    NODE_MTBF_H,
    RESTART_S,
    SPOT_RECLAIMED_A_MONTH,
    checkpoint_every_s,
    goodput,
    goodput_share,
    job_mtbf_s,
    spot_node_mtbf_h,
    straggler_slowdown,
)

NODES = st.integers(1, 20_000)
SECONDS = st.floats(0, 3600)


@given(NODES, SECONDS, SECONDS, st.floats(1, 1e6))
def test_goodput_is_a_share(nodes, write_s, restart_s, node_mtbf_h):
    """Between 0 and 1, whatever fails and however often."""
    kept = goodput(nodes, write_s=write_s, restart_s=restart_s, node_mtbf_h=node_mtbf_h)

    assert 0 <= kept.share <= 1


@given(NODES, NODES, SECONDS, SECONDS)
def test_goodput_falls_with_the_number_of_nodes(few, many, write_s, restart_s):
    """More nodes fail more often, and never keep more."""
    few, many = sorted((few, many))

    kept = [goodput(nodes, write_s=write_s, restart_s=restart_s).share for nodes in (few, many)]
    assert kept[0] >= kept[1] - 1e-12


@given(st.floats(1, 600), st.floats(3600, 1e6), st.floats(0.2, 5))
def test_no_other_interval_keeps_more(write_s, mtbf_s, factor):
    """Daly's interval is the best to a thousandth, where a checkpoint is short against the MTBF."""
    best = checkpoint_every_s(write_s, mtbf_s)

    kept = goodput_share(best, write_s, 0, mtbf_s)
    assert kept >= goodput_share(best * factor, write_s, 0, mtbf_s) - 1e-3


def test_it_is_young_s_interval_for_rare_failures():
    """The square root of twice the write time times the MTBF."""
    assert checkpoint_every_s(10, 1e8) == pytest.approx(math.sqrt(2 * 10 * 1e8), rel=1e-3)


def test_llama_3_is_within_the_range():
    """16,384 GPUs: a failure about every 3 hours, and 90% effective training time (2407.21783)."""
    kept = [goodput(16384 / 8, write_s=30, restart_s=restart_s) for restart_s in RESTART_S.triple]

    assert kept[0].mtbf_s / 3600 == pytest.approx(54 * 24 / 419)
    assert kept[0].share > 0.9 > kept[2].share


def test_the_mtbf_of_a_job_is_that_of_a_node_over_their_number():
    """FAIR projects 1.8 h at 16,384 GPUs from its RSC-1 (2410.21680), our low end."""
    assert job_mtbf_s(NODE_MTBF_H.low, 16384 / 8) / 3600 == pytest.approx(1.8, abs=0.01)


def test_nothing_is_lost_where_nothing_fails():
    """An infinite MTBF keeps everything."""
    assert goodput(100, write_s=60, node_mtbf_h=math.inf).share == 1


def test_spot_nodes_are_lost_more_often_than_owned_ones():
    """Both rates add up."""
    assert spot_node_mtbf_h(SPOT_RECLAIMED_A_MONTH.likely) < NODE_MTBF_H.likely
    assert spot_node_mtbf_h(0) == pytest.approx(NODE_MTBF_H.likely)


@given(NODES, st.floats(0, 1), st.floats(0, 1))
def test_a_slow_node_slows_all_by_no_more_than_itself(nodes, share, by):
    """The slowest sets the pace."""
    assert 1 <= straggler_slowdown(nodes, share, by) <= 1 + by + 1e-12


def test_failures_are_expected_over_the_elapsed_time():
    """A week on a thousand nodes sees its share of them."""
    kept = goodput(1000, write_s=30, length_s=7 * 86400)

    assert kept.failures == pytest.approx(7 * 86400 / kept.share / kept.mtbf_s)


def wall_s(dice, every_s, write_s, restart_s, mtbf_s):
    """Seconds until one segment and its checkpoint are done, with restarts that may fail as well."""
    spent, needed = 0.0, every_s + write_s
    while True:
        until = dice.expovariate(1 / mtbf_s)
        if until >= needed:
            return spent + needed
        spent += until
        needed = restart_s + every_s + write_s


def test_the_formula_is_what_a_simulation_gives():
    """20,000 segments with failures by dice: within one in a hundred."""
    dice, case = random.Random(1), (900.0, 60.0, 300.0, 7200.0)

    walls = [wall_s(dice, *case) for _ in range(20_000)]
    assert goodput_share(*case) == pytest.approx(case[0] * len(walls) / sum(walls), rel=0.01)
