import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[4] / "src"


def alive(pid):
    """True while the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid, limit_s=150):
    """True once the process is no more."""
    end = time.monotonic() + limit_s
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


@pytest.fixture
def agent(tmp_path):
    """Runs a text with our modules at hand; what it prints is read line by line."""
    running = []

    def start(text):
        head = "import os, sys, time\nfrom clusterwright.onhost.supervisor.host import processes\n"
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", head + text], stdout=subprocess.PIPE, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )  # fmt: skip
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_child_dies_with_the_one_who_started_it(agent):
    """SIGKILL of the parent leaves no time to tidy up; the kernel does it."""
    parent = agent("print(processes.start(['sleep', '600'], os.environ, 'log').pid); time.sleep(600)")
    child = int(parent.stdout.readline())
    assert alive(child)

    os.kill(parent.pid, signal.SIGKILL)

    assert gone(child)


def test_orphans_in_sessions_of_their_own_are_ended(agent):
    """A grandchild that left our session and lost its parent is adopted, and ended."""
    text = """
processes.adopt_orphans()
processes.start(['sh', '-c', 'setsid sleep 600 & echo $! > pid'], os.environ, 'log')
while not (os.path.exists('pid') and open('pid').read()): time.sleep(0.01)
print(open('pid').read().strip()); print(processes.end_descendants(5)); print(processes.descendants(os.getpid()))
"""
    parent = agent(text)
    orphan, ended, left = (parent.stdout.readline().strip() for _ in range(3))

    assert (ended, left) == ("True", "[]")
    assert gone(int(orphan))


def test_what_is_to_be_kept_is_kept(agent):
    """The fork server survives the end of a generation."""
    text = """
kept = processes.start(['sleep', '600'], os.environ, 'log')
other = processes.start(['sleep', '600'], os.environ, 'log')
print(processes.end_descendants(5, survivors={kept.pid}), processes.descendants(os.getpid()) == [kept.pid])
"""
    assert agent(text).stdout.readline().split() == ["True", "True"]


def test_a_rank_dies_with_its_torchrun(agent):
    """bound.py binds the process before it becomes the command."""
    rank = SOURCE / "clusterwright" / "train" / "agent" / "bound.py"
    parent = agent(
        "import subprocess\n"
        f"p = subprocess.Popen([sys.executable, '-S', {str(rank)!r}, 'sleep', '600'], start_new_session=True)\n"
        "time.sleep(0.5); print(p.pid); time.sleep(600)"
    )
    child = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)

    assert gone(child)
