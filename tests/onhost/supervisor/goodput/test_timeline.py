"""Timelines of events that a user has crafted: the work grows with the number of events, not with its square."""

import time
from contextlib import suppress

import pytest

from clusterwright.onhost.supervisor.goodput import timeline

MANY = 20_000
START = {"time": 1.0, "event": "job_start", "job_id": "7", "hosts": ["h"]}


@pytest.fixture
def seconds():
    """A function that returns the processor time of the timeline of events."""

    def measure(events):
        begun = time.process_time()
        with suppress(ValueError):  # of a run that cannot be read
            timeline.jobs([START, *events])
        return time.process_time() - begun

    return measure


def test_generations_that_all_begin_at_one_moment(seconds):
    """Each would contain the events of all others."""
    start = {"time": 2.0, "event": "generation_start", "generation": 1, "hosts": ["h"]}

    assert seconds([start] * MANY) < 5


def test_generations_with_one_number(seconds):
    """Their events are found by time."""
    start = {"event": "generation_start", "generation": 1, "hosts": ["h"]}

    assert seconds([{**start, "time": 2.0 + number} for number in range(MANY)]) < 5


def test_many_hosts_and_many_losses(seconds):
    """One pass finds the absences of all hosts."""
    hosts = [f"h{number}" for number in range(MANY)]
    lost = [{"time": 3.0, "event": "host_lost", "lost_host": host} for host in hosts]
    back = [{"time": 4.0, "event": "host_ready", "ready": host} for host in hosts]

    assert seconds([{**START, "hosts": hosts}, *lost, *back]) < 5


def test_ranks_that_are_restored_and_resumed(seconds):
    """Each rank once of each kind."""
    start = {"time": 2.0, "event": "generation_start", "generation": 1, "hosts": ["h"]}
    kinds = [
        {"time": 3.0, "event": kind, "generation": 1, "rank": rank}
        for rank in range(MANY)
        for kind in ("restored", "resumed")
    ]

    assert seconds([start, *kinds]) < 5


def test_a_lost_host_is_absent_until_it_is_back():
    """By a message of its own, or in the next generation; else until the end."""
    (job,) = timeline.jobs(
        [
            {**START, "hosts": ["a", "b", "c"]},
            {"time": 2.0, "event": "host_lost", "lost_host": "a"},
            {"time": 2.5, "event": "host_lost", "lost_host": "a"},
            {"time": 3.0, "event": "host_lost", "lost_host": "b"},
            {"time": 4.0, "event": "host_lost", "lost_host": "c"},
            {"time": 5.0, "event": "host_ready", "ready": "a"},
            {"time": 6.0, "event": "generation_start", "generation": 2, "hosts": ["a", "b"]},
            {"time": 9.0, "event": "job_end", "outcome": "finished"},
        ]
    )
    second = timeline.SECOND

    assert job.absences == {
        "a": [(2 * second, 5 * second)],
        "b": [(3 * second, 6 * second)],
        "c": [(4 * second, 9 * second)],
    }
