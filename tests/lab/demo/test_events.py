"""Event files are read as a killed host leaves them."""

from clusterwright.lab.demo.events import parse_events


def test_events_come_in_the_order_of_their_time_whatever_file_they_are_in(lost_host):
    """Supervisor and ranks write files of their own."""
    events, torn = parse_events(lost_host[0])

    assert [event.time for event in events] == sorted(event.time for event in events)
    assert (torn, events[0].kind, events[-1].kind) == (0, "job_start", "job_end")


def test_a_line_that_was_cut_short_is_counted_and_left_out():
    """A host that loses power while it writes takes half a line with it."""
    whole = '{"time": 1, "event": "step", "host": "a", "generation": 1, "step": 4}\n'

    events, torn = parse_events(
        [whole + '{"time": 2, "eve', "\n\n", '[1]\n{"event": "x"}\n{"time": "soon", "event": "x"}\n']
    )
    assert [event.step for event in events] == [4]
    assert torn == 4


def test_an_event_without_a_step_or_rank_says_so():
    """The supervisor's events have neither."""
    (event,), _ = parse_events(
        ['{"time": 1, "event": "host_lost", "host": "a", "generation": 1, "lost_host": "b"}']
    )

    assert (event.step, event.rank, event.more["lost_host"]) == (-1, None, "b")
