"""The law of votes: all ranks come to the same steps, and a wish does not wait long."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.runtime.sync_point import Rounds

HEARD_S, MOST = 0.25, 16


def votes(slow, until):
    """The steps of votes, when step N takes `slow(N)` seconds; what a vote says is what came before its own step."""
    rounds, found, slowest = Rounds(), [], 0.0
    for step in range(1, until):
        if rounds.due(step):
            found.append(step)
            rounds.record(step, slowest)
            slowest = 0.0
        slowest = max(slowest, slow(step))
    return found


def apart(found):
    """Steps from one vote to the next."""
    return [after - before for before, after in pairwise(found)]


def test_long_steps_have_a_vote_each():
    """From the first on: how long they are is not known before."""
    assert votes(lambda _: 0.2, 20) == list(range(1, 20))


def test_short_steps_have_fewer_and_fewer_votes():
    """55 ms: four to a quarter of a second."""
    assert votes(lambda _: 0.055, 20) == [1, 2, 4, 8, 12, 16]


def test_very_short_steps_never_go_long_without_a_vote():
    """A millisecond: 250 would fit, but the next ones may be longer."""
    assert max(apart(votes(lambda _: 0.001, 500))) == MOST


def test_when_steps_become_long_each_has_a_vote_again():
    """Sixteen at most go by until then."""
    found = votes(lambda step: 0.001 if step < 200 else 3.0, 260)

    assert all(step in found for step in range(200 + 2 * MOST, 260))


@given(st.lists(st.floats(0.0005, 2.0), min_size=2, max_size=300))
def test_between_two_votes_lies_no_more_than_the_steps_before_promise(seconds):
    """At their pace a quarter of a second, or one step; and never more than twice as many as before."""
    found = votes(lambda step: seconds[step - 1], len(seconds))
    gaps = apart(found)
    for place in range(1, len(gaps)):
        slowest = max(seconds[step - 1] for step in range(found[place - 1], found[place]))
        assert gaps[place] == 1 or gaps[place] * slowest <= HEARD_S
        assert gaps[place] <= min(2 * gaps[place - 1], MOST)
