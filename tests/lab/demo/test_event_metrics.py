"""Figures worked out from events, ordinary and strange ones."""

import math

import pytest

from clusterwright.lab.demo import event_metrics
from clusterwright.lab.demo.events import DemoEvent, parse_events

STEPS, KILLED_AT, RESUMED = 60, 36, 30  # of the runs in conftest.py


def step(number, time, loss=1.0, *, epoch=0, generation=1):
    """A step event."""
    more = {"step": number, "loss": loss, "loss_hex": loss.hex(), "epoch": epoch}
    return DemoEvent(time, "step", "a", generation, 0, more)


def ready(time, *ranks, host="a"):
    """Ranks that have come together."""
    return [DemoEvent(time, "group_ready", host, 1, rank, {}) for rank in ranks]


@pytest.fixture
def faulted(lost_host):
    """The events of the run with the fault, and the moment of it."""
    return parse_events(lost_host[0])[0], lost_host[1]


def test_repeated_steps_are_those_done_more_than_once(faulted):
    """Steps 31 to 36 were lost and done again."""
    assert event_metrics.repeated(faulted[0]) == KILLED_AT - RESUMED


def test_a_step_done_three_times_is_one_repeated_step():
    """Two faults in the same stretch do not count it twice."""
    assert event_metrics.repeated([step(1, 1), step(2, 2), step(2, 3), step(2, 4)]) == 1


def test_the_last_time_a_step_was_done_is_what_counts():
    """The model that goes on is the one of the last time."""
    done = event_metrics.completed_steps([step(1, 1, 3.0), step(1, 9, 2.0)])

    assert done[1].loss == 2.0


def test_a_run_with_a_fault_equals_one_without(faulted, whole):
    """The same bits in every step."""
    one, other = (
        event_metrics.completed_steps(faulted[0]),
        event_metrics.completed_steps(parse_events(whole)[0]),
    )

    assert event_metrics.equal_bitwise(one, other)
    assert len(one) == STEPS


def test_one_bit_of_one_loss_makes_a_difference():
    """Equal to twelve digits is not equal."""
    one = event_metrics.completed_steps([step(1, 1, 1.0), step(2, 2, 0.5)])
    other = event_metrics.completed_steps([step(1, 1, 1.0), step(2, 2, math.nextafter(0.5, 1))])

    assert event_metrics.differing(one, other) == (2,)
    assert not event_metrics.equal_bitwise(one, other)


def test_a_step_that_only_one_of_them_did_is_a_difference():
    """A training that stops early is not the same training."""
    one, other = (
        event_metrics.completed_steps([step(1, 1), step(2, 2)]),
        event_metrics.completed_steps([step(1, 1)]),
    )

    assert event_metrics.differing(one, other) == event_metrics.differing(other, one) == (2,)


def test_two_trainings_without_steps_are_not_equal():
    """Nothing is no proof."""
    assert not event_metrics.equal_bitwise({}, {})


def test_a_loss_that_json_cannot_hold_is_read_from_its_bits():
    """`loss` is null for nan; `loss_hex` is not."""
    event = DemoEvent(1, "step", "a", 1, 0, {"step": 1, "loss": None, "loss_hex": "nan", "epoch": None})

    assert math.isnan(event_metrics.completed_steps([event])[1].loss)


def test_a_repeated_step_with_another_loss_is_found():
    """A resume that is not exact shows here even if both runs were to agree."""
    assert event_metrics.repeats_differ([step(1, 1, 3.0), step(2, 2, 2.0), step(2, 5, 2.5)]) == (2,)


def test_the_parts_of_the_recovery_add_up_to_it(faulted):
    """No second is counted twice or left out."""
    took = event_metrics.recovery(*faulted)

    assert sum(part.seconds for part in took.parts) == pytest.approx(took.seconds)
    assert all(part.seconds >= 0 for part in took.parts)


def test_each_part_of_the_recovery_is_what_the_events_say(faulted):
    """The silence, the new generation, the processes, torch, the meeting, the checkpoint, the steps."""
    took = event_metrics.recovery(*faulted)

    parts = {part.name: round(part.seconds, 2) for part in took.parts}
    assert parts == {
        "detection": 5.2, "new generation": 0.5, "launch": 0.9, "import": 3.2, "rendezvous": 0.8,
        "load checkpoint": 0.4, "first step": 0.2, "catching up": 1.2,
    }  # fmt: skip
    assert (took.at_step, took.resumed_step) == (KILLED_AT, RESUMED)
    assert took.next_step_seconds == pytest.approx(took.seconds - 1.2, abs=0.01)


def test_a_rank_restarted_in_place_has_no_detection_of_its_own(lost_rank):
    """Torchrun writes no event; the parts that are known still add up."""
    events, killed = parse_events(lost_rank[0])[0], lost_rank[1]

    took = event_metrics.recovery(events, killed)
    assert [part.name for part in took.parts][:2] == ["launch", "import"]
    assert sum(part.seconds for part in took.parts) == pytest.approx(took.seconds)


def test_recovery_ends_with_a_step_that_was_never_done_before():
    """Steps done again are no progress; the step under way at the fault may still end, and is none either."""
    events = [
        *ready(0, 0),
        step(1, 1),
        step(2, 2),
        step(3, 3.4),
        *ready(8, 0),
        step(2, 9),
        step(3, 10),
        step(4, 11),
    ]

    took = event_metrics.recovery(events, 3.0)
    assert (took.at_step, took.seconds, took.next_step_seconds) == (2, 8.0, 6.0)


def test_a_training_that_never_came_back_has_no_recovery():
    """Not zero seconds: none."""
    assert event_metrics.recovery([*ready(0, 0), step(1, 1), *ready(8, 0), step(1, 9)], 3.0) is None
    assert event_metrics.recovery([], 3.0) is None


def test_a_generation_that_failed_on_the_way_belongs_to_the_recovery():
    """The second start counts; the time of the first is in what came before it."""
    started = [DemoEvent(t, "generation_start", "a", g, None, {"hosts": ["a"]}) for t, g in ((4, 2), (20, 3))]
    processes = [DemoEvent(t, "process_start", "a", g, 0, {"started": t - 1}) for t, g in ((6, 2), (23, 3))]
    events = [
        *ready(0, 0),
        step(1, 1),
        step(2, 2),
        *started,
        *processes,
        *ready(24, 0),
        step(2, 25),
        step(3, 26),
    ]

    took = event_metrics.recovery(sorted(events, key=lambda event: event.time), 3.0)
    assert {part.name: part.seconds for part in took.parts}["new generation"] == 17
    assert took.seconds == 23


def test_the_final_word_is_missing_where_a_training_did_not_finish(faulted):
    """Then nothing is made up."""
    unfinished = [event for event in faulted[0] if event.kind != "finished"]

    assert event_metrics.finished(unfinished) is None
    assert event_metrics.finished(faulted[0]).step == STEPS


def test_world_sizes_are_counted_group_by_group(faulted):
    """Four ranks before and four after."""
    assert event_metrics.world_sizes(faulted[0]) == (4, 4)
    assert event_metrics.world_sizes([*ready(1, 0, 1), *ready(5, 0)]) == (2, 1)
    assert event_metrics.world_sizes([]) == ()


def test_a_host_with_other_ranks_after_the_fault_still_has_as_many():
    """Ranks are numbered anew: two at a time are two."""
    groups = [
        *ready(1, 0, 1, host="a"),
        *ready(1, 2, 3, host="b"),
        *ready(5, 0, 1, host="c"),
        *ready(5, 2, 3, host="a"),
    ]

    assert event_metrics.ranks_on(groups) == {"a": 2, "b": 2, "c": 2}


def test_ranks_are_counted_by_the_host_that_had_them(faulted):
    """The spare got those of the host that was killed."""
    assert event_metrics.ranks_on(faulted[0]) == {"gpu-node1": 2, "gpu-node2": 2, "gpu-node3": 2}


def test_the_place_in_an_epoch_is_known_once_an_epoch_has_ended():
    """The first and the last epoch may be cut short; the longest is a whole one."""
    done = event_metrics.completed_steps([step(n, n, epoch=(n - 1) // 4) for n in range(1, 11)])

    assert event_metrics.place_in_epoch(done, 6) == (1, 0.5)
    assert event_metrics.place_in_epoch(done, 99) is None
    assert event_metrics.place_in_epoch(event_metrics.completed_steps([step(1, 1), step(2, 2)]), 1) is None


def test_a_checkpoint_is_one_event_however_many_ranks_report_it(faulted):
    """Steps 10, 20, 30 before the fault; 40, 50, 60 after it."""
    assert [event.step for event in event_metrics.checkpoints(faulted[0])] == [10, 20, 30, 40, 50, 60]
