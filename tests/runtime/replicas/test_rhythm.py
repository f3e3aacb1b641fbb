import pytest

from clusterwright.runtime.replicas.replicas import BUDGET, MOST, RECENT, Rhythm


def test_never_has_no_rhythm():
    """Nothing is copied."""
    assert Rhythm.parse("never") is None


def test_each_so_many_steps():
    """As all ranks count them; no clock asks for more."""
    rhythm = Rhythm.parse("steps:5")

    assert [step for step in range(1, 12) if rhythm.due(step)] == [5, 10]
    assert not rhythm.overdue(1e9)


def test_auto_copies_at_once_and_then_within_its_budget():
    """A copy of 50 ms is followed by 20 s without one."""
    rhythm = Rhythm.parse("auto")
    assert rhythm.overdue(100.0)
    rhythm.record(100.0, 0.05)

    assert not rhythm.overdue(100 + 0.05 / BUDGET - 0.1)
    assert rhythm.overdue(100 + 0.05 / BUDGET + 0.1)
    assert not rhythm.due(1)


def after(costs):
    """A rhythm that has copied as soon as it could, at these costs; the time of the last copy, and of the next."""
    rhythm, now = Rhythm.parse("auto"), 100.0
    for seconds in costs:
        while not rhythm.overdue(now):
            now += 0.01
        now += seconds
        rhythm.record(now, seconds)
    upcoming = now
    while not rhythm.overdue(upcoming):
        upcoming += 0.01
    return now, upcoming


@pytest.mark.parametrize(("calm", "longest_s"), [(20, 20.1), (3, 70), (0, 200.1)])
def test_a_copy_in_a_loaded_moment_makes_the_next_ones_hardly_rarer(calm, longest_s):
    """Half a second, after so many of 50 ms; what those left of the budget is spent on it."""
    now, upcoming = after([0.05] * calm + [0.5])

    assert 0.05 / BUDGET <= upcoming - now <= longest_s


def test_all_copies_together_stay_within_the_budget():
    """However dear some of them are, and however long that lasts."""
    costs = [0.05] * 5 + [0.5] * 3 + [0.05] * 10 + [1.0]
    _, upcoming = after(costs)

    assert sum(costs) / (upcoming - 100.0) <= MOST + 1e-9


def test_copies_that_have_become_dear_are_rarer():
    """When not one of the last ones was cheap."""
    now, upcoming = after([0.05] * 3 + [0.2] * RECENT)

    assert upcoming - now >= 0.2 / BUDGET


@pytest.mark.parametrize("text", ["steps:0", "steps:", "always", "5"])
def test_other_words_are_refused(text):
    """Both are named: what was said, and what can be."""
    with pytest.raises(ValueError, match="write auto"):
        Rhythm.parse(text)
