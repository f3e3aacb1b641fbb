"""Programs that a host runs."""

import os
import time
from pathlib import Path

import pytest

from clusterwright.onhost.lib.processes import NOT_STARTED, PIPE, TIMED_OUT, TOO_LARGE, kill_group, run, start

pytestmark = pytest.mark.timeout(60)


def test_a_program_ends_with_what_it_printed():
    """Both streams, and its code."""
    done = run(["sh", "-c", "echo out; echo error >&2; exit 3"], 10)

    assert (done.code, done.out, done.err, done.stopped, done.ok) == (3, "out\n", "error\n", "", False)
    assert done.reason == "error"


def test_streams_can_come_as_one():
    """In the order in which they came."""
    assert run(["sh", "-c", "echo a; echo b >&2; echo c"], 10, merge=True).out == "a\nb\nc\n"


def test_stdin_of_any_length_is_passed_on():
    """More than a pipe holds, both ways."""
    data = b"x" * 3_000_000

    assert run(["cat"], 30, stdin=data).out.encode() == data
    assert run(["true"], 10, stdin=data).ok
    assert run(["cat"], 10).out == ""


def test_one_that_overruns_is_killed_with_its_children():
    """Also where it prints all the time, or closes its streams."""
    began = time.monotonic()
    for line in (
        "sleep 60 & echo $!; wait",
        "exec 2>/dev/null; yes | head -c 1000; sleep 60",
        "exec >&- 2>&-; sleep 60",
    ):
        done = run(["sh", "-c", line], 0.3)

        assert (done.code, done.stopped) == (TIMED_OUT, "overran")
    child = int(run(["sh", "-c", "sleep 60 & echo $!; wait"], 0.3).out)
    stat = Path(f"/proc/{child}/stat")
    while stat.exists() and " Z " not in stat.read_text():
        assert time.monotonic() - began < 30


def test_one_that_prints_without_end_is_stopped():
    """By its output limit, and by its time limit where that comes first."""
    done = run(["yes"], 60, limit=100_000)

    assert (done.code, len(done.out), done.stopped) == (TOO_LARGE, 100_000, "printed too much")
    assert run(["sh", "-c", "while :; do echo y; done"], 0.3).code == TIMED_OUT


def test_one_that_is_missing_says_so():
    """With the code of a shell."""
    done = run(["no-such-program"], 10)

    assert (done.code, done.reason) == (NOT_STARTED, "No such file or directory")


def test_what_is_printed_need_not_be_utf_8():
    """It becomes text all the same."""
    assert run(["printf", r"a\377"], 10).out == "a\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("own", [True, False])
def test_one_that_runs_beside_us_is_ended(own):
    """Alone, or with its process group; it has no stdin of ours."""
    process = start(["sh", "-c", "cat; sleep 60"], stdout=PIPE, start_new_session=own)
    try:
        assert (os.getpgid(process.pid) == process.pid) == own
    finally:
        assert kill_group(process)
        process.stdout.close()
    assert process.returncode == -9
    assert kill_group(process)
