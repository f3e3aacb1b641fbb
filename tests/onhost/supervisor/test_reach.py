"""Whether Slurm is in reach, asked with real processes that stand for scontrol."""

import time

import pytest

from clusterwright.onhost.supervisor.schedulers import AT_ONCE_S, FORGOTTEN_S, Reach

GOOD = "JobState=RUNNING"


def said(reach):
    """The answer, once there is one."""
    while (answer := reach.answer()) is None:
        time.sleep(0.01)
    return answer


@pytest.mark.parametrize(("says", "good"), [(f"JobId=7 {GOOD} x", True), ("JobState=COMPLETING", False)])
def test_an_answer_is_read_for_its_words(says, good):
    """And asked for again each time."""
    reach = Reach(("echo", says), GOOD, limit_s=200)

    assert (said(reach), said(reach)) == (good, good)


def test_a_program_that_is_not_there_gives_no_good_answer():
    """Nor does it end the supervisor."""
    assert Reach(("no-such-program",), GOOD).answer() is False


def test_nobody_waits_for_an_answer():
    """What comes too late is none, and the one who was asked is ended."""
    reach = Reach(("sleep", "600"), GOOD)
    assert reach.answer() is None
    asked = reach._process
    reach._deadline -= AT_ONCE_S  # what two seconds of waiting would do

    assert reach.answer() is False
    assert asked.returncode is not None


def test_an_answer_that_was_forgotten_is_asked_for_anew():
    """The others were heard again meanwhile, and now are no more."""
    reach = Reach(("echo", GOOD), GOOD, limit_s=200)
    assert reach.answer() in (None, True)
    reach._deadline -= 200 + FORGOTTEN_S + 1

    assert said(reach) is True
