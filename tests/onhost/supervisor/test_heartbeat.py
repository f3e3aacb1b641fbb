"""When a pulse counts as still."""

from clusterwright.onhost.supervisor.heartbeat import Beat, Heartbeat, listen_address


def test_a_pulse_that_does_not_move_is_still_since_it_was_last_heard():
    """One more than was heard is no sign of life: it is written before it is sent."""
    pulse = Heartbeat(Beat(1, 40), 100.0)

    assert pulse.stalled_s(Beat(1, 40), 102.0) == 2.0
    assert pulse.stalled_s(Beat(1, 41), 102.5) == 2.5


def test_a_pulse_that_moves_belongs_to_somebody_alive():
    """From then on stillness is counted anew."""
    pulse = Heartbeat(Beat(1, 40), 100.0)

    assert pulse.stalled_s(Beat(1, 42), 102.0) == 0.0
    assert pulse.stalled_s(Beat(1, 42), 103.0) == 1.0
    assert pulse.stalled_s(Beat(1, 44), 104.0) == 0.0


def test_the_next_supervisors_first_beat_counts_however_low_its_number():
    """Beats begin at one with each supervisor; those of the one before are not looked at any more."""
    pulse = Heartbeat(Beat(1, 40), 100.0)

    assert pulse.stalled_s(Beat(2, 1), 102.0) == 0.0
    assert pulse.stalled_s(Beat(1, 60), 103.0) == 1.0
    assert pulse.last_beat == Beat(2, 1)


def test_an_empty_folder_shows_the_first_beat_of_all():
    """And no place."""
    assert Beat.from_document({}) == Beat(0, 0)
    assert listen_address({"address": "10.0.0.1", "port": 20001}) == ("10.0.0.1", 20001)
