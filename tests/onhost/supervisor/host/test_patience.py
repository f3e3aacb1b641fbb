import os
import subprocess
import sys
import time

import pytest

from clusterwright.onhost.supervisor.host.ranks import IDLE_S, LONGEST_S, ProgressTimeout, work

HALF = IDLE_S / 2


@pytest.fixture
def started():
    """`started(program)` is the process of a Python program that has said that it is there; gone at the end."""
    made = []

    def start(program):
        argv = [sys.executable, "-c", f"print('there', flush=True)\n{program}"]
        made.append(subprocess.Popen(argv, stdout=subprocess.PIPE))
        made[-1].stdout.readline()
        return made[-1].pid

    yield start
    for each in made:
        each.kill()
        each.communicate()


def test_who_works_is_waited_for(started):
    """Long beyond the time in which one that stands still is given up."""
    busy, patience = started("while True: pass"), ProgressTimeout()
    patience.begin(0)
    said = []
    for turn in range(10):
        before, end = work(busy), time.monotonic() + 30
        while work(busy) == before and time.monotonic() < end:
            time.sleep(0.02)
        said.append(patience.over(busy, turn * HALF))

    assert said == [""] * 10


def test_who_stands_still_is_given_up(started):
    """And why."""
    idle, patience = started("import time; time.sleep(600)"), ProgressTimeout()
    time.sleep(0.3)
    patience.begin(0)

    assert patience.over(idle, 1) == ""
    assert patience.over(idle, 1 + IDLE_S - 1) == ""
    assert patience.over(idle, 1 + IDLE_S + 1) == f"was idle for {IDLE_S:.0f} s"


def test_who_only_reads_is_waited_for(started):
    """As an import from a file system that answers slowly."""
    program = (
        "import os, time\nfile = os.open('/dev/zero', 0)\nwhile True: os.read(file, 10); time.sleep(0.01)"
    )
    reads, patience = started(program), ProgressTimeout()
    patience.begin(0)
    first = work(reads)
    time.sleep(0.3)

    assert work(reads)[2] > first[2]
    assert patience.over(reads, 0) == patience.over(reads, HALF) == ""


def test_there_is_an_end_to_it():
    """Whatever it does."""
    patience = ProgressTimeout()
    patience.begin(0)

    assert patience.over(os.getpid(), LONGEST_S - 1) == ""
    assert patience.over(os.getpid(), LONGEST_S + 1) == f"was not ready after {LONGEST_S:.0f} s"
    patience.begin(LONGEST_S)
    assert patience.over(os.getpid(), LONGEST_S + 2) == ""


def test_who_is_gone_has_done_nothing():
    """The kernel knows no such process."""
    assert work(2**22 + 1) is None
