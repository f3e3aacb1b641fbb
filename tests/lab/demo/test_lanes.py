"""What each host did when, from events."""

from itertools import pairwise

import pytest

from clusterwright.lab.demo.events import DemoEvent, parse_events
from clusterwright.lab.demo.lanes import InjectedFault, lanes, markers, origin, place_of

HOSTS = ("gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4")


@pytest.fixture
def rows(lost_host):
    """The rows of a run whose second host was killed, and came back 13 s later."""
    events, killed = parse_events(lost_host[0])[0], lost_host[1]
    fault = InjectedFault("kill-host", "gpu-node2", None, killed, killed + 11, killed + 13)
    return {lane.place: lane.spans for lane in lanes(events, HOSTS, fault)}


def doings(spans):
    """What was done, in order."""
    return [span.doing for span in spans]


def test_a_host_that_stays_waits_for_the_next_generation(rows):
    """It trains, hangs in a collective that never ends, and trains again."""
    assert doings(rows["gpu-node1"]) == ["starting", "training", "waiting", "starting", "training"]


def test_the_killed_host_is_down_until_it_has_power_and_back_when_it_is_in_slurm(rows):
    """Four things in a row, without a gap."""
    spans = rows["gpu-node2"]

    assert doings(spans) == ["starting", "training", "down", "booting", "back"]
    assert all(one.end == pytest.approx(two.start) for one, two in pairwise(spans))


def test_the_spare_stands_ready_until_it_takes_over(rows):
    """It belongs to the job from the start."""
    assert doings(rows["gpu-node3"]) == ["spare", "starting", "training"]
    assert rows["gpu-node3"][0].start == 0


def test_a_host_outside_the_job_has_an_empty_row(rows):
    """It is shown, and did nothing."""
    assert rows["gpu-node4"] == ()


def test_a_host_that_never_came_back_stays_down_to_the_end(lost_host):
    """Without an undo there is no booting."""
    events, killed = parse_events(lost_host[0])[0], lost_host[1]

    (row,) = lanes(events, ("gpu-node2",), InjectedFault("kill-host", "gpu-node2", None, killed))
    assert row.spans[-1].doing == "down"
    assert row.spans[-1].end == pytest.approx(events[-1].time - origin(events))


def test_ranks_of_one_machine_have_rows_of_their_own(lost_rank):
    """All restart together; the killed one is gone in between, the others wait."""
    events, killed = parse_events(lost_rank[0])[0], lost_rank[1]
    places = tuple(place_of(rank) for rank in range(4))

    rows = {
        lane.place: doings(lane.spans)
        for lane in lanes(events, places, InjectedFault("kill-rank", "here", 2, killed))
    }
    assert rows["rank 1"] == ["starting", "training", "waiting", "starting", "training"]
    assert rows["rank 2"] == ["starting", "training", "down", "starting", "training"]


def test_hosts_written_as_a_hostlist_are_read_too():
    """Slurm's own form."""
    events = [
        DemoEvent(0, "job_start", "a1", 0, None, {"hosts": "a[1-2]"}),
        DemoEvent(1, "generation_start", "a1", 1, None, {"hosts": "a[1-2]"}),
        DemoEvent(9, "job_end", "a1", 1, None, {}),
    ]

    assert [lane.spans[0].doing for lane in lanes(events, ("a1", "a2"), None)] == ["starting", "starting"]


def test_a_number_of_a_generation_that_comes_twice_does_no_harm():
    """A successor that counts anew is told apart by time."""
    starts = [DemoEvent(t, "generation_start", "a", 1, None, {"hosts": ["a"]}) for t in (1, 20)]
    events = [
        *starts,
        DemoEvent(9, "generation_end", "a", 1, None, {}),
        DemoEvent(30, "generation_end", "a", 1, None, {}),
    ]

    (row,) = lanes(sorted(events, key=lambda event: event.time), ("a",), None)
    assert [(span.start, span.end) for span in row.spans] == [(0, 8), (19, 29)]


def test_no_events_make_empty_rows():
    """A training that never began is drawn as such."""
    assert [lane.spans for lane in lanes([], HOSTS, None)] == [(), (), (), ()]


def test_marks_come_in_order_and_hold_the_fault(lost_host):
    """Checkpoints, the fault, the loss noticed, the resume, the end."""
    events, killed = parse_events(lost_host[0])[0], lost_host[1]

    found = markers(events, InjectedFault("kill-host", "gpu-node2", None, killed))
    assert [mark.time for mark in found] == sorted(mark.time for mark in found)
    order = [mark.what for mark in found if mark.what != "checkpoint"]
    assert order == ["fault", "lost", "resumed", "finished"]
