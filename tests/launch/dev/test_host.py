"""What goes to the hosts: it is read by an old Python, and sees who works."""

import ast
import os
import pty
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.edge.bundler import DEV_REQUESTS, DEV_SESSION, bundle_script, sources
from clusterwright.onhost.dev import events, home, ports, work


@pytest.mark.parametrize("program", [DEV_REQUESTS, DEV_SESSION])
def test_python_3_8_reads_it(program):
    """What hosts of Rocky 8 and Ubuntu 20.04 have."""
    texts = [text for _name, text in sources(program) if text]

    assert len(texts) > 1
    assert all(ast.parse(text, feature_version=(3, 8)).body for text in texts)


@pytest.mark.parametrize("program", [DEV_REQUESTS, DEV_SESSION])
def test_it_is_one_script_without_us(program, tmp_path):
    """It runs where nothing of ours is installed: without its argument it fails in its own main."""
    done = subprocess.run(
        [sys.executable, "-I", "-"],
        input=bundle_script(program),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert b"ModuleNotFoundError" not in done.stderr
    assert b"in main" in done.stderr


def test_a_torn_line_is_not_heard_yet(tmp_path):
    """A whole one is."""
    events.append_event(str(tmp_path), "up", port=1)
    with (tmp_path / events.FILE).open("a") as file:
        file.write('{"event": "end')

    assert events.read_events(str(tmp_path)) == [{"event": "up", "port": 1}]
    assert events.read_events(str(tmp_path / "none")) == []


def test_a_port_that_is_taken_gives_way_to_another():
    """Tried by binding it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        wanted = taken.getsockname()[1]
        other = ports.free(wanted)
    assert other not in (0, wanted)
    assert ports.free(wanted) == wanted


def test_processes_of_a_job_are_found_by_what_slurm_told_them(tmp_path):
    """Or by their control group, where they were given a clean environment."""
    in_group = "4:memory:/slurm/uid_1/job_7/step_0/task_0\n"
    for pid, group, told in ((1, "0::/init\n", ""), (2, in_group, ""), (3, "", "A=1\0SLURM_JOB_ID=7")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cgroup").write_text(group)
        (tmp_path / str(pid) / "environ").write_text(told)

    assert work.of_job("7", str(tmp_path)) == {2, 3}
    assert work.of_job("77", str(tmp_path)) == set()


def test_what_computes_works_and_what_waits_does_not():
    """Between two looks, as a share of one core."""
    environment = {**os.environ, "SLURM_JOB_ID": "990077"}
    loop = "import sys\nfor _ in sys.stdin: pass\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", loop], stdin=subprocess.PIPE, env=environment)
    try:
        time.sleep(0.5)
        seen = work.DevWork("990077", time.time())
        time.sleep(1)
        waited = seen.poll(time.time())
        process.stdin.close()
        time.sleep(1)
        worked = seen.poll(time.time())
    finally:
        process.kill()
        process.wait()
    assert waited > 0.9
    assert worked == 0


def test_who_gets_little_of_a_crowded_host_works_all_the_same(monkeypatch):
    """It is seen running at two looks."""
    monkeypatch.setattr(work, "BUSY", 1000)  # stands for a host so crowded that nothing would be enough
    environment = {**os.environ, "SLURM_JOB_ID": "990079"}
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"], env=environment)
    try:
        time.sleep(0.5)
        seen = work.DevWork("990079", time.time())
        time.sleep(0.3)
        once = seen.poll(time.time())
        time.sleep(0.3)
        twice = seen.poll(time.time())
    finally:
        process.kill()
        process.wait()
    assert once > 0.2
    assert twice == 0


def test_who_looks_does_not_keep_itself_alive():
    """The job's own program is a process of the job, and runs whenever it looks."""
    program = (
        "import time\nfrom clusterwright.onhost.dev.work import DevWork\nseen = DevWork('990080', time.time())\n"
        "for _ in range(3): time.sleep(0.5); idle = seen.poll(time.time())\nprint(idle)"
    )
    environment = {**os.environ, "SLURM_JOB_ID": "990080"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )

    assert float(done.stdout) > 1.4


def test_a_process_that_began_in_between_counts_whole():
    """One that ended is not seen."""
    assert work.computed({1: 5.0, 2: 3.0}, {1: 5.5, 3: 2.0}) == 2.5


def test_a_home_with_room_is_where_notebooks_are(tmp_path, monkeypatch):
    """Nothing is to be said of it, and nothing is left in it."""
    if not Path.home().is_dir():
        pytest.skip("whoever runs the tests has no home")
    place = home.home(str(tmp_path))

    assert place.notes == []
    assert not list(Path(place.root).glob(".wright-dev-*"))


def test_a_folder_that_takes_nothing_says_why(tmp_path):
    """In the system's words."""
    assert home.unwritable(str(tmp_path)) == ""
    assert home.unwritable("/proc") != ""


def test_who_types_at_a_terminal_works():
    """As w(1) sees it, by the terminal that a process of the job reads."""
    terminal, theirs = pty.openpty()
    environment = {**os.environ, "SLURM_JOB_ID": "990078"}
    process = subprocess.Popen(["cat"], stdin=theirs, stdout=subprocess.DEVNULL, env=environment)
    try:
        time.sleep(0.3)
        pids = work.of_job("990078")
        began = work.typed(pids)
        os.utime(os.ttyname(theirs), (1000, 1000))
        long_ago = work.typed(pids)
        os.write(terminal, b"one more line\n")
        time.sleep(0.3)
        typed = work.typed(pids)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
        os.close(theirs)
    assert pids == {process.pid}
    assert (began > 1000, long_ago, typed > 1000) == (True, 1000, True)
    assert work.typed(set()) == 0
