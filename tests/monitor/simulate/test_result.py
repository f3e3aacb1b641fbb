"""What is said of a replay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.monitor.simulate.engine import simulate
from clusterwright.monitor.simulate.fairshare import FairTree
from clusterwright.monitor.simulate.result import jain, promised, result
from clusterwright.monitor.simulate.settings import Account
from clusterwright.monitor.simulate.trace import Trace


def test_used_and_held(job, settings):
    """Four jobs of one GPU on whole hosts of four, of which there are two: a quarter works, all is held."""
    jobs = [job(str(number), at=0 if number < 4 else 100, run=100) for number in range(5)]
    found = result(simulate(jobs, settings(queue={"exclusive": True})))

    assert (found.used, found.held) == (0.25, 1.0)
    assert found.waits.jobs == 5
    assert found.span_s == 300


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=9))
def test_jain_lies_between_one_over_n_and_one(values):
    """1 where all are equal."""
    assert 1 / len(values) - 1e-9 <= jain(values) <= 1 + 1e-9
    assert jain([values[0]] * 3) == pytest.approx(1)


@given(
    st.dictionaries(st.sampled_from("abcde"), st.floats(0, 1000), min_size=1),
    st.dictionaries(st.sampled_from("abcde"), st.floats(0.1, 10)),
    st.floats(0, 3000),
)
def test_promises_fit_into_the_room(asked, shares, room):
    """Nobody is owed more than it asked, all together no more than there is, and nothing is left that one asks."""
    owed = promised(asked, shares, room)

    assert all(owed[team] <= asked[team] + 1e-6 for team in asked)
    assert sum(owed.values()) == pytest.approx(min(room, sum(asked.values())), abs=1e-5)


def test_who_asks_less_is_owed_what_it_asks():
    """And the others divide the rest by their shares."""
    assert promised({"a": 10, "b": 100, "c": 100}, {"a": 1, "b": 2, "c": 1}, 100) == {
        "a": 10,
        "b": 60,
        "c": 30,
    }


def test_the_fair_tree():
    """Among siblings who used least of their share comes first, with all beneath; use decays by half in a half-life."""
    accounts = (Account("lab", 3), Account("a", 1, "lab"), Account("b", 1, "lab"), Account("c", 1))
    tree = FairTree({each.name: each for each in accounts}, 100.0)
    for team, user in (("a", "u"), ("b", "v"), ("c", "w")):
        tree.add_user(team, user)
    tree.decay(0)
    tree.charge("a", "u", 30)
    tree.charge("c", "w", 30)
    factors = tree.factors()

    # lab: 3/4 of the shares for half of the use; c: 1/4 for half.
    assert factors[("b", "v")] == 1
    assert factors[("a", "u")] == pytest.approx(2 / 3)
    assert factors[("c", "w")] == pytest.approx(1 / 3)
    tree.decay(100)
    tree.charge("b", "v", 30)
    assert tree.factors()[("a", "u")] > tree.factors()[("b", "v")]


def test_a_trace_of_nothing():
    """No division by it."""
    assert Trace().jobs == []
