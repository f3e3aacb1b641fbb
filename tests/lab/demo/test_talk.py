"""What a person sees while the demo goes on."""

import os
import signal

import pytest

from clusterwright.edge.fakes import FakeClock
from clusterwright.lab.demo.talk import Talk


@pytest.fixture
def clock():
    """A clock that moves when it is slept on."""
    return FakeClock()


def test_a_chapter_says_when_it_began_and_how_long_it_took(clock):
    """The seconds at the left are those since the demo began."""
    said = []
    talk = Talk(said.append, clock)
    clock.sleep(2)

    with talk.chapter("apply", "apply: the hosts"):
        clock.sleep(3.5)
        talk.log("two lines\nof text")
    talk.end()
    assert said == [
        "    2.0 s  apply: the hosts", "    5.5 s    two lines", "    5.5 s    of text", "    5.5 s    done in 3.5 s",
    ]  # fmt: skip
    assert talk.seconds == {"apply": 3.5, "total": 5.5}


def test_a_chapter_that_failed_is_timed_too(clock):
    """Its seconds are in the report, with the reason."""
    said = []
    talk = Talk(said.append, clock)

    with pytest.raises(ZeroDivisionError), talk.chapter("check", "check"):
        clock.sleep(1 / 0)
    assert (said[-1], talk.seconds) == ("    0.0 s    failed in 0.0 s", {"check": 0.0})


def test_an_interrupt_does_not_stop_the_taking_away(clock):
    """Ctrl-C is answered, and works as before afterwards."""
    said = []
    talk = Talk(said.append, clock)

    with talk.undisturbed():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
    assert len(said) == 2
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
