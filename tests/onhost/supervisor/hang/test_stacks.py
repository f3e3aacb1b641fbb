import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.onhost.supervisor.hang import stacks

SOURCE = Path(__file__).parents[4] / "src"
HEAD = (
    "import os, sys, threading, time\n"
    "from clusterwright.onhost.supervisor.hang import stacks\nstacks.listen({path!r})\n"
)


@pytest.fixture
def path(tmp_path):
    """Where stacks go."""
    return str(tmp_path / "0.stacks")


@pytest.fixture
def rank(path, tmp_path):
    """Runs a script that listens; it is there when it prints its first line."""
    running = []

    def start(text, head=HEAD):
        script = tmp_path / "train.py"
        script.write_text(head.format(path=path) + "print('there')\n" + text)
        process = subprocess.Popen(
            [sys.executable, "-u", script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(SOURCE)},
        )  # fmt: skip
        running.append(process)
        assert process.stdout.readline() == "there\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def answer(path, begin=0):
    """What is written, once some of it is there and no more comes; a busy machine takes seconds for that."""
    end, before = time.monotonic() + 60, None
    while (found := stacks.threads(stacks.read_from(path, begin))) != before or not found:
        assert time.monotonic() < end, "nothing is written"
        before = found
        time.sleep(0.3)
    return found


def stands(process, path, place):
    """Wait until it has come to this place; where the file ends then."""
    end = time.monotonic() + 60
    while True:
        begin = stacks.size(path)
        stacks.request_dump(process.pid)
        if stacks.location(answer(path, begin)[-1]) == place:
            return stacks.size(path)
        assert time.monotonic() < end, "it does not come there"


def test_all_threads_answer_and_the_main_one_comes_last(rank, path):
    """From inside a wait that goes on afterwards."""
    process = rank(
        "def work():\n    time.sleep(600)\nthreading.Thread(target=work, daemon=True).start()\n"
        "print(os.read(0, 1))\n"
    )
    begin = stands(process, path, "train.py:8 (<module>)")
    assert stacks.request_dump(process.pid)
    found = answer(path, begin)
    process.stdin.write("x")
    process.stdin.flush()

    assert len(found) == 2
    assert "in work" in found[0]
    assert process.stdout.readline() == "b'x'\n"


@pytest.mark.parametrize(
    "spin",
    ["while True: pass\n", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')\n"],
    ids=["python", "a C function that keeps the lock"],
)
def test_a_busy_process_answers(rank, path, spin):
    """The handler needs no interpreter."""
    process = rank(spin)
    stacks.request_dump(process.pid)

    assert stacks.location(answer(path)[-1]).startswith("train.py:")


def test_a_process_that_does_not_listen_is_left_alone(rank, path):
    """The signal would end it."""
    process = rank("time.sleep(60)", head="import time\n")

    assert not stacks.request_dump(process.pid)
    assert process.poll() is None
    assert not stacks.request_dump(2**22 + 1)


def test_a_stopped_process_answers_when_it_is_let_go_on(rank, path):
    """Which happens right before it is killed."""
    process = rank("time.sleep(600)")
    begin = stands(process, path, "train.py:5 (<module>)")
    os.kill(process.pid, signal.SIGSTOP)
    end = time.monotonic() + 60
    while stacks.state(process.pid) != "T":
        assert time.monotonic() < end
    stacks.dump_all({process.pid: path})
    process.kill()

    assert stacks.location(stacks.threads(stacks.read_from(path, begin))[-1]) == "train.py:5 (<module>)"


def test_answers_are_told_apart_by_their_place(rank, path):
    """Each is what was written since."""
    process = rank("time.sleep(600)")
    begin = stands(process, path, "train.py:5 (<module>)")
    stacks.request_dump(process.pid)
    first, then = answer(path, begin), stacks.size(path)
    stacks.request_dump(process.pid)

    assert answer(path, then) == first


def test_the_script_s_own_line_is_named():
    """Not the library's that it waits in, and not a frozen importer's."""
    lines = [
        '  File "/usr/lib/python3.11/queue.py", line 171 in get',
        '  File "/home/a/train.py", line 41 in batch',
    ]

    assert stacks.location("\n".join(lines)) == "train.py:41 (batch)"
    assert stacks.location(lines[0]) == "queue.py:171 (get)"
    assert stacks.location("") == "no Python code"
