import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.hang import examine, stacks
from clusterwright.onhost.supervisor.hang.examine import Examination, Sample, judge

SOURCE = Path(__file__).parents[4] / "src"
HEAD = (
    "import os, sys, threading, time\n"
    "from clusterwright.onhost.supervisor.hang import stacks\nstacks.listen({path!r})\n"
)
HUNGRY = "is ready to run and gets only 10% of a core"
WAITS = "waits in train.py:41 (batch); no bytes read or written"
NOWHERE = "runs without progress in train.py:41 (batch); no bytes read or written"
HERE, THERE = ('  File "train.py", line 41 in batch',), ('  File "train.py", line 43 in other',)
NEXT = ('  File "train.py", line 42 in batch',)
BESIDE = '  File "train.py", line 9 in {}'


def looks(*answers, state="S", **each_s):
    """Looks a third of a second apart with these answers; what grows does so by so much a second."""
    grows = {"cpu": 0.0, "beside": 0.0, "others": 0.0, "moved": 0, "waited": 0.0, "written": 0, **each_s}
    return [
        Sample(
            time=at, state=state, cpu_s=(grows["cpu"] + grows["beside"]) * at, main_cpu_s=grows["cpu"] * at,
            others_s=grows["others"] * at, bytes=int(grows["moved"] * at), waited_s=grows["waited"] * at,
            stacks=answer, written=int(grows["written"] * at),
        )
        for at, answer in zip((0, 1 / 3, 2 / 3, 1), ((), *answers), strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "verdict", "words"),
    [
        (looks(HERE, HERE, HERE), "hung", WAITS),
        (looks(HERE, HERE, HERE, state="R", cpu=1.0), "hung", NOWHERE),
        (looks((), (), (), state="T"), "hung", "stopped by a signal (state T)"),
        (looks((), (), ()), "hung", "waits in an unknown place; no bytes read or written"),
        (looks(HERE, HERE, THERE), "active", "works in train.py:43 (other)"),
        (looks(HERE, NEXT, HERE, state="R", cpu=1.0), "hung", NOWHERE),
        (looks(HERE, HERE, HERE, beside=0.9), "active", "its other threads run (90% of a core)"),
        (looks(HERE, HERE, HERE, moved=9000), "active", "reads and writes 9 kB/s"),
        (looks(HERE, HERE, HERE, moved=9000, written=9000), "hung", WAITS),
        (looks(HERE, HERE, HERE, others=0.9), "active", "its child processes run or are ready to run (90% of a core)"),
        (looks(HERE, HERE, HERE, state="D"), "active", "waits for storage or for a driver (state D)"),
        (looks((), (), (), state="R", cpu=1.0), "active", "computes, but writes no stacks"),
        (looks(HERE, HERE, HERE, state="R", cpu=0.1, waited=0.9), "starved", HUNGRY),
        (looks(HERE, HERE, HERE, state="R", cpu=0.1), "starved", HUNGRY),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_evidence_is_weighed(seen, verdict, words):
    """Each kind once."""
    found = judge(seen)

    assert (found.verdict, found.message) == (verdict, words)
    assert found.proven is (seen[-1].state == "T")


def test_other_threads_count_only_when_they_spend_time():
    """A writer of logs that wakes now and then is no work; a pool of threads that computes is."""
    answers = [(BESIDE.format(name), *HERE) for name in ("a", "b", "c")]

    assert judge(looks(*answers)).verdict == "hung"
    assert judge(looks(*answers, state="S", beside=0.9)).verdict == "active"


@given(
    st.sampled_from("RSDT"), st.floats(0, 2), st.floats(0, 2), st.integers(0, 10**6), st.floats(0, 1),
    st.lists(st.sampled_from([HERE, THERE, ()]), min_size=3, max_size=3),
)  # fmt: skip
def test_who_shows_any_progress_is_never_hung(state, cpu, others, moved, waited, answers):
    """Whatever else is seen; only a stopped process makes none."""
    seen = looks(*answers, state=state, cpu=cpu, others=others, moved=moved, waited=waited)
    progress = moved >= 2 * examine.LEAST_BYTES_PER_S or others >= 0.3 or {HERE, THERE} <= set(answers)

    if state != "T" and progress:
        assert judge(seen).verdict in ("active", "starved")
    if state == "T":
        assert judge(seen).proven


@pytest.fixture
def rank(tmp_path):
    """Runs a script that listens; it is there when it prints its first line."""
    running = []

    def start(text):
        script = tmp_path / "train.py"
        script.write_text(HEAD.format(path=str(tmp_path / "0.stacks")) + "print('there')\n" + text)
        process = subprocess.Popen(
            [sys.executable, "-u", script], stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(SOURCE)}
        )
        running.append(process)
        assert process.stdout.readline() == "there\n"
        time.sleep(0.3)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def examined(process, tmp_path):
    """What a real examination finds, and after how many looks."""
    examination = Examination(process.pid, stacks.path(str(tmp_path), 0))
    found, looks = None, 0
    while not found:
        time.sleep(examination.due(time.monotonic()))
        found, looks = examination.poll(time.monotonic()), looks + 1
    return found, looks


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("while True: time.sleep(1)\n", "waits in train.py:5"),
        ("while True: pass\n", "runs without progress in train.py:5"),
        ("while True:\n    sys.argv\n    os.sep\n", "runs without progress in train.py:"),
        ("import re\nre.match('(a+)+$', 'a' * 40 + 'b')\n", "runs without progress in train.py:6"),
        ("import ctypes\nwhile True: ctypes.PyDLL(None).sleep(60)\n", "waits in train.py:6"),
        ("threading.Event().wait()\n", "waits in train.py:5"),
    ],
    ids=[
        "sleeps",
        "spins",
        "spins over lines",
        "spins in C",
        "sleeps in C with the lock",
        "waits for a lock",
    ],
)
def test_a_real_process_that_hangs(rank, tmp_path, text, words):
    """Each with the line that it is in."""
    found, _ = examined(rank(text), tmp_path)

    assert found.verdict == "hung" or ("nowhere" in words and found.verdict == "starved")  # a busy machine
    assert found.message.startswith(words) or found.verdict == "starved"


@pytest.mark.parametrize(
    "text",
    [
        "def work(n):\n    return n if n < 2 else work(n - 1) + work(n - 2)\nwork(60)\n",
        "while True:\n    open('/dev/zero', 'rb').read(1 << 16); time.sleep(0.05)\n",
        "import subprocess\nsubprocess.run([sys.executable, '-c', 'while True: pass'])\n",
    ],
    ids=["computes", "reads", "waits for a process that computes"],
)
def test_a_real_process_that_works(rank, tmp_path, text):
    """It is let work."""
    process = rank(text)
    found, _ = examined(process, tmp_path)
    for child in examine.processes.descendants(process.pid):
        os.kill(child, signal.SIGKILL)

    assert found.verdict in ("active", "starved")


def test_a_stopped_process_is_proven(rank, tmp_path):
    """At the second look, or the third if the signal had not come yet."""
    process = rank("time.sleep(60)\n")
    os.kill(process.pid, signal.SIGSTOP)
    found, looks = examined(process, tmp_path)

    assert found == ("hung", "stopped by a signal (state T)", True)
    assert looks <= 3


def test_a_process_that_has_ended_is_gone(rank, tmp_path):
    """Its exit is found in another way."""
    process = rank("")
    process.wait()

    assert examined(process, tmp_path)[0].verdict == "gone"
