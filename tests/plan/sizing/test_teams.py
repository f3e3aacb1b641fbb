"""One cluster for several teams."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.plan.sizing.teams import erlang_c, shared, with_headroom

SHARES = st.floats(0, 0.95)


@given(st.integers(1, 1000), SHARES, SHARES)
def test_more_headroom_never_takes_fewer_nodes(nodes, one, other):
    """And none takes none away."""
    little, much = sorted((one, other))

    assert nodes <= with_headroom(nodes, little) <= with_headroom(nodes, much)


@given(st.integers(1, 64), st.integers(1, 20), SHARES)
def test_the_headroom_is_free_while_all_teams_train(job_nodes, teams, headroom):
    """That is what it is for."""
    cluster = shared(job_nodes, 3, teams, headroom)

    assert cluster.load <= 1 - headroom + 1e-9
    assert cluster.slots >= teams
    assert cluster.share * teams == pytest.approx(1)


@given(st.integers(1, 200), st.floats(0, 250))
def test_the_probability_to_wait_is_one(servers, load):
    """Between 0 and 1, and 1 where the work never gets done."""
    assert 0 <= erlang_c(servers, load) <= 1


def test_one_server_waits_as_often_as_it_is_busy():
    """M/M/1."""
    assert erlang_c(1, 0.7) == pytest.approx(0.7)


def test_erlang_s_own_figure():
    """Two servers, one of them busy on average: a third waits."""
    assert erlang_c(2, 1) == pytest.approx(1 / 3)


def test_three_teams_with_a_third_free():
    """Four nodes each and 30% free: 18 nodes, four at once, and a short queue."""
    cluster = shared(4, 3.0, 3, 0.30)

    assert (cluster.nodes, cluster.slots) == (18, 4)
    assert 0 < cluster.waits < 1
    assert cluster.wait_hours == pytest.approx(cluster.waits * 3.0)


def test_without_headroom_the_queue_never_ends():
    """Three teams that always train fill three slots."""
    assert shared(4, 3.0, 3, 0.0).wait_hours == math.inf


def test_the_wait_is_what_a_simulation_gives():
    """200,000 trainings by dice, three at once: within one in twenty."""
    dice, free, now, waited = random.Random(2), [0.0] * 3, 0.0, []
    for _ in range(200_000):
        now += dice.expovariate(2.0)
        first = min(range(3), key=free.__getitem__)
        start = max(now, free[first])
        free[first] = start + dice.expovariate(1.0)
        waited.append(start - now)

    share = sum(wait > 0 for wait in waited) / len(waited)
    assert share == pytest.approx(erlang_c(3, 2.0), rel=0.05)
    assert sum(waited) / len(waited) == pytest.approx(erlang_c(3, 2.0) / (3 - 2), rel=0.05)
