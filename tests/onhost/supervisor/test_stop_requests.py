"""Why ranks are to leave."""

import signal

import pytest

from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.stop_requests import StopRequests


class Room:
    """A room whose job was cancelled, or not."""

    def __init__(self, *, cancelled):
        self.cancelled, self.stood_by = cancelled, True

    def was_cancelled(self):
        """What Slurm says."""
        return self.cancelled

    def cancel_standby(self):
        """Nobody follows."""
        self.stood_by = False


@pytest.mark.parametrize(
    ("number", "cancelled", "reason"),
    [
        (signal.SIGUSR1, False, "time-limit"),
        (signal.SIGTERM, False, "preempted"),
        (signal.SIGTERM, True, "cancelled"),
    ],
)
def test_each_signal_has_its_reason(tmp_path, number, cancelled, reason):
    """Only a cancelled job takes the one that stands by with it."""
    place = Room(cancelled=cancelled)
    wishes = StopRequests(Folder(str(tmp_path)), place, float("inf"))
    assert wishes.reason(0.0, "") == ""

    wishes.on_signal(number)

    assert wishes.reason(0.0, "") == reason
    assert place.stood_by is not cancelled


def test_an_agent_that_is_told_to_go_is_as_good_as_a_signal(tmp_path):
    """It comes first where there is a grace time; what was known before stays."""
    wishes = StopRequests(Folder(str(tmp_path)), Room(cancelled=False), float("inf"))
    wishes.leaving()
    assert wishes.reason(0.0, "") == "preempted"

    limited = StopRequests(Folder(str(tmp_path)), Room(cancelled=True), float("inf"))
    limited.on_signal(signal.SIGUSR1)
    limited.leaving()
    assert limited.reason(0.0, "") == "time-limit"


def test_the_clock_counts_where_slurm_does_not_say_it(tmp_path):
    """A person's wish goes before it."""
    wishes = StopRequests(Folder(str(tmp_path)), Room(cancelled=False), 50.0)

    assert [wishes.reason(now, "") for now in (49.0, 50.0)] == ["", "time-limit"]
    (tmp_path / "cancelled").touch()
    assert wishes.reason(51.0, "") == "cancelled"


def test_after_the_end_a_signal_changes_nothing_more(tmp_path):
    """It is only known that Slurm wants the process gone."""
    place = Room(cancelled=True)
    wishes = StopRequests(Folder(str(tmp_path)), place, float("inf"))
    wishes.over = True
    wishes.on_signal(signal.SIGTERM)

    assert wishes.termination_requested
    assert place.stood_by


def test_a_signal_is_news_until_it_is_asked_about(tmp_path):
    """The supervisor looks once a second, and at once when there is news."""
    wishes = StopRequests(Folder(str(tmp_path)), Room(cancelled=True), float("inf"))
    assert not wishes.news

    wishes.on_signal(signal.SIGTERM)
    assert wishes.news
    wishes.reason(0.0, "")
    assert not wishes.news
