"""Which ranks the others waited for, from events alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.goodput import advice, slow


def event(time, kind, rank=0, **more):
    """One, of a host that is named after the rank."""
    return {"time": time, "event": kind, "rank": rank, "host": f"h{rank}", **more}


FOUND = event(10, "straggler", 3, step=40, ratio=1.5, own=0.15, typical=0.1)


def test_a_rank_that_is_slow_and_then_is_not():
    """From when to when, and what the others waited for it in each step."""
    (found,) = slow.find_stragglers([FOUND, event(20, "straggler", 3, step=90, ratio=1.0, over=True)])

    assert (found.rank, found.host, found.ratio, found.begin, found.end, found.step) == (
        3,
        "h3",
        1.5,
        10,
        20,
        40,
    )
    assert found.lost_s == pytest.approx(0.05)


@pytest.mark.parametrize("kind", ["generation_end", "generation_start", "job_end", "finished"])
def test_the_end_of_a_generation_ends_what_it_found(kind):
    """Ranks that start again are measured again."""
    assert slow.now([FOUND]).rank == 3
    assert slow.now([FOUND, event(30, kind)]) is None


def test_a_rank_found_again_is_one_at_a_time():
    """The newer finding ends the older one of the same rank; another rank's stays."""
    other = event(12, "straggler", 5, step=50, ratio=1.2, own=0.12, typical=0.1)
    again = event(15, "straggler", 3, step=60, ratio=2.0, own=0.2, typical=0.1)

    assert [(each.rank, each.end) for each in slow.find_stragglers([FOUND, other, again])] == [
        (3, 15),
        (5, None),
        (3, None),
    ]


def test_what_is_said():
    """Each rank once, the slowest first."""
    lines = slow.lines([FOUND, event(12, "straggler", 5, step=50, ratio=1.2, own=0.12, typical=0.1)])

    assert lines[0] == (
        "slow: rank 3 on h3 took 1.50 times as long as the others from step 40 on; they waited 50 ms per step for it"
        " and still do"
    )
    assert lines[1].startswith("slow: rank 5 on h5")
    assert lines[0] in advice.list_advice([FOUND], {})


@given(
    st.lists(
        st.sampled_from(
            [
                FOUND,
                {"time": 1, "event": "straggler"},
                event(5, "straggler", 3, over=True),
                event(6, "finished"),
            ]
        )
    )
)
def test_no_events_break_it(events):
    """Such as those of another release, or in an order that clocks made."""
    assert len(slow.lines(events)) <= 2


def test_many_stragglers_take_linear_time():
    """A user can write as many events as fit; the exporter reads the runs of all users."""
    events = [event(1, "straggler", rank) for rank in range(20_000)] + [event(2, "generation_end")]
    begun = time.process_time()
    found = slow.find_stragglers(events)

    assert len(found) == 20_000
    assert {straggler.end for straggler in found} == {2.0}
    assert time.process_time() - begun < 5
