"""A program that is talked with."""

import os
import signal
import sys
import time

import pytest

from clusterwright.edge.talk import Talk

ECHO = (
    "import sys\nfor line in sys.stdin: print('heard', line.strip(), flush=True)\nprint('left', flush=True)"
)


def test_it_answers_line_by_line_and_hears_our_leaving():
    """The end of its stdin is the end of the talk, on which it may still say something."""
    with Talk((sys.executable, "-u", "-c", ECHO)) as talk:
        talk.send(b"one\n")
        lines = talk.lines()
        assert next(lines) == "heard one\n"
        talk.close_stdin()
        assert list(lines) == ["left\n"]
        assert talk.result().code == 0


def test_its_end_says_why():
    """Code and stderr; what is told to one that has ended is not heard, and no error."""
    with Talk(("sh", "-c", "echo sorry >&2; exit 7")) as talk:
        assert list(talk.lines()) == []
        talk.send(b"x" * 200_000)
        done = talk.result()

    assert (done.code, done.err) == (7, "sorry\n")


def test_it_hears_no_interrupt_of_the_terminal():
    """It is in a session of its own, so that it can be told to leave."""
    with Talk(("sh", "-c", "ps -o sid= -p $$; cat")) as talk:
        theirs = next(talk.lines()).strip()

    assert theirs.isdigit()
    assert int(theirs) != os.getsid(0)


def test_one_that_does_not_leave_is_ended(monkeypatch):
    """After a while."""
    monkeypatch.setattr("clusterwright.edge.talk.EXIT_TIMEOUT_S", 0.3)  # the wait is what is tested
    began = time.monotonic()
    with pytest.raises(Exception, match="timed out"), Talk(("sleep", "60")) as talk:
        pass

    assert time.monotonic() - began < 20
    assert talk._process.returncode == -signal.SIGKILL
