import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.hang import envelope
from clusterwright.onhost.supervisor.hang.envelope import Envelope, Limits

seconds = st.floats(0.001, 100)


def taught(usual, *, first=0.1, hang="auto"):
    """An envelope that has seen the first looks of a generation, and then these."""
    made = Envelope(hang)
    made.begin()
    for _ in range(envelope.WARM_UP_POLLS):
        made.observe(first)
    for one in usual:
        made.observe(one)
    return made


def test_nothing_is_known_before_ranks_have_moved():
    """Ten minutes to begin: a compiler may be at work."""
    assert Envelope().limits() == Limits(600, 600)


def test_who_was_stopped_is_given_seconds_only():
    """However long steps take, unless the job file says otherwise."""
    assert Envelope().limits(stopped=True) == Limits(envelope.STOPPED_S, 600)
    assert taught([10.0] * 20).limits(timeout_factor=4, stopped=True).straggler == envelope.STOPPED_S
    assert taught([0.1] * 20).limits(stopped=True).straggler == envelope.LEAST_S
    assert Envelope(90.0).limits(stopped=True) == Limits(90.0, 90.0)
    assert Envelope("never").limits(stopped=True).straggler == math.inf


@given(st.lists(seconds, min_size=envelope.ENOUGH, max_size=600))
def test_the_limit_is_well_above_nearly_all_steps(usual):
    """Eight times what 95 of 100 take, and never less than a second."""
    limit = taught(usual).limits().straggler
    remembered = usual[-envelope.REMEMBERED :]

    assert limit >= 1
    assert sum(one * 8 <= limit + 1e-9 for one in remembered) >= 0.95 * len(remembered) - 1


@given(st.lists(seconds, min_size=envelope.ENOUGH, max_size=100), st.floats(1, 64))
def test_everyone_together_may_stand_still_for_longer(usual, patience):
    """At least a minute, three times the longest seen, and never less than one rank alone."""
    limits = taught(usual).limits(patience)

    assert limits.everyone >= max(60, 3 * max(usual), limits.straggler)


def test_quick_steps_are_watched_by_the_second():
    """50 ms a step: one second."""
    assert taught([0.05] * 100).limits() == Limits(1, 60)


def test_one_long_step_in_a_hundred_does_not_blind():
    """An evaluation now and then lengthens the long limit only."""
    assert taught(([0.05] * 99 + [30.0]) * 3).limits() == Limits(1, 90)


def test_the_first_steps_of_a_generation_are_apart():
    """They neither count as usual, nor are they held to it."""
    made = taught([0.05] * 50, first=4)
    assert made.limits().straggler == 1
    made.begin()
    before_the_first = made.limits().straggler
    made.observe(4)

    assert before_the_first == 60
    assert made.limits().straggler == 12


@given(st.floats(1, 1024))
def test_verdicts_that_may_have_been_wrong_make_patient(patience):
    """Both limits grow."""
    usual = taught([0.05] * 20)

    assert usual.limits(patience) == Limits(patience, 60 * patience)


def test_what_the_job_file_says_holds_exactly():
    """For both, from the beginning, whatever was seen; `never` is for ever."""
    assert taught([90.0] * 20, hang=600.0).limits(8) == Limits(600, 600)
    assert Envelope(5.0).limits() == Limits(5, 5)
    assert taught([0.05] * 20, hang="never").limits() == Limits(math.inf, math.inf)


@pytest.mark.parametrize(
    ("made", "expects"), [(Envelope(), False), (Envelope(5.0), True), (taught([1] * 5), True)]
)
def test_a_script_that_shows_nothing_is_not_expected_to(made, expects):
    """Unless the job file says a time, or it did before."""
    assert made.expects is expects
