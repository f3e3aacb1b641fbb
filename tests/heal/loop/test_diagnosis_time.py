"""Diagnoses of failed jobs delay the polls of hosts by a limited time."""

import pytest

from clusterwright.errors import WrightError
from clusterwright.heal.loop.diagnosis_time import JOB_S, POLL_S, USER_S, WINDOW_S, DiagnosisTime
from clusterwright.onhost.lib.safe_reader import OverBudgetError


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self):
        self.s = 0.0

    def __call__(self):
        """The seconds that have passed."""
        return self.s


@pytest.fixture
def clock():
    """Starts at 0."""
    return Clock()


def take(time, clock, user, seconds=None):
    """Use a diagnosis of the user for some seconds, by default for all that it has; return what it had."""
    with time.charge(user) as limit:
        clock.s += limit if seconds is None else seconds
    return limit


def test_accounts_of_one_person_delay_a_poll_by_its_limit(clock):
    """Each job has an equal share of what the earlier ones leave."""
    time = DiagnosisTime(clock)
    time.begin_poll(5)

    limits = [take(time, clock, f"eve{number}") for number in range(5)]

    assert sum(limits) == pytest.approx(POLL_S)
    assert min(limits) == pytest.approx(POLL_S / 5)


def test_a_job_that_takes_a_second_leaves_the_rest_to_others(clock):
    """Up to the limit of a job."""
    time = DiagnosisTime(clock)
    time.begin_poll(2)

    assert [take(time, clock, "bob", 1.0), take(time, clock, "carol", 1.0)] == [JOB_S, JOB_S]


def test_a_user_has_a_limited_time_within_an_hour(clock):
    """The jobs of others are diagnosed meanwhile, and the user's own later."""
    time = DiagnosisTime(clock)
    for _ in range(round(USER_S / JOB_S)):
        time.begin_poll(1)
        assert take(time, clock, "eve") == JOB_S

    with pytest.raises(OverBudgetError, match="within an hour"):
        take(time, clock, "eve")
    time.begin_poll(1)
    assert take(time, clock, "bob") == JOB_S
    clock.s += WINDOW_S
    time.begin_poll(1)
    assert take(time, clock, "eve") == JOB_S


def test_a_diagnosis_that_fails_counts(clock):
    """Its time has passed too."""
    time = DiagnosisTime(clock)

    def fail():
        clock.s += USER_S
        raise WrightError("x")

    with pytest.raises(WrightError), time.charge("eve"):
        fail()
    with pytest.raises(OverBudgetError):
        take(time, clock, "eve")
