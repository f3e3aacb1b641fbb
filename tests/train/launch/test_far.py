import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.train.launch import far

TEXT = Path(far.__file__).read_bytes()


@pytest.fixture
def runs(tmp_path):
    """Two runs: an older one that has ended, and one that is under way since its second job."""
    for name in ("old-20261120-100000", "new-20261121-100000"):
        for folder in ("events", "checkpoints", "chain", "logs/1/gpu-node1/r_x/attempt_0/0"):
            (tmp_path / name / folder).mkdir(parents=True)
        (tmp_path / name / "job.json").write_text('{"local": true}')
    old, new = tmp_path / "old-20261120-100000", tmp_path / "new-20261121-100000"
    (old / "ended.json").write_text(
        json.dumps({"outcome": "no-progress", "code": 4, "why": "again and again"})
    )
    (old / "jobs").write_text("7\n")
    (new / "jobs").write_text("8\n")
    (new / "chain" / "1").write_text("8")
    (new / "chain" / "2").write_text("9")
    (new / "chain" / "handover-8").write_text("gpu-node2")
    (new / "checkpoints" / "step-00000025").mkdir()
    lines = [{"time": 1, "event": "step", "step": 30}, {"time": 2, "event": "checkpoint", "step": 25}]
    (new / "events" / "rank-0.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines) + '{"torn'
    )
    return tmp_path


def start(*arguments):
    """As ssh starts it: the text on stdin."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-", *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "PATH": "/nonexistent"},
    )  # fmt: skip
    process.stdin.write(TEXT)
    process.stdin.close()
    process.stdin = None
    return process


def done(*arguments):
    """Exit code and output."""
    process = start(*arguments)
    out, err = process.communicate(timeout=30)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(
    "what",
    ["8", "9", "last", "new-20261121-100000", "/shared/runs/new-20261121-100000/slurm-9.out", "slurm-9.out"],
)
def test_a_run_is_found_by_whatever_a_person_has_at_hand(what, runs):
    """Name, job id of any job of the chain, `last`, or an output file."""
    assert Path(far.find(str(runs), what)).name == "new-20261121-100000"


def test_an_unknown_run_names_the_known_ones(runs):
    """The exit code says that there is none."""
    code, _, err = done("logs", runs, "12345", "once")

    assert code == far.NO_RUN
    assert "new-20261121-100000, old-20261120-100000" in err


def test_a_list_says_how_far_each_run_is(runs):
    """From names of folders and the end of the events."""
    _, out, _ = done("list", runs)
    new, old = json.loads(out)

    assert (new["step"], new["checkpoint"], new["generation"], new["jobs"], new["ended"]) == (
        30,
        25,
        1,
        ["8", "9"],
        {},
    )
    assert old["ended"]["outcome"] == "no-progress"


def test_no_runs_are_an_empty_list(tmp_path):
    """A cluster that nobody has trained on yet."""
    assert done("list", tmp_path / "runs")[1] == "[]"


def test_logs_of_an_ended_run_end_with_its_outcome(runs):
    """Every line has its host and rank; the job's own lines are [job]."""
    run = runs / "old-20261120-100000"
    (run / "logs/1/gpu-node1/r_x/attempt_0/0/stdout.log").write_text("hello\nworld\n")
    (run / "slurm-7.out").write_text("job 7\n")
    code, out, _ = done("logs", runs, "7", "live")

    assert code == 4
    assert sorted(out.splitlines()) == ["[gpu-node1:0] hello", "[gpu-node1:0] world", "[job] job 7"]


def test_live_logs_go_on_through_generations_until_the_end(runs):
    """A second generation on another host is shown by the same command; half a line is not shown."""
    run = runs / "new-20261121-100000"
    (run / "logs/1/gpu-node1/r_x/attempt_0/0/stdout.log").write_text("one\nha")
    process = start("logs", runs, "last", "live")
    assert process.stdout.readline() == b"[gpu-node1:0] one\n"

    second = run / "logs/2/gpu-node4/r_y/attempt_0/1"
    second.mkdir(parents=True)
    (second / "stderr.log").write_text("two\n")
    assert process.stdout.readline() == b"[gpu-node4:1] two\n"

    (run / "ended.json").write_text('{"outcome": "finished", "code": 0}')
    assert process.communicate(timeout=20)[0] == b""
    assert process.returncode == 0


def test_a_reader_that_hangs_up_ends_the_follower(runs):
    """No process stays behind on the control host when ssh is interrupted."""
    (runs / "new-20261121-100000" / "slurm-8.out").write_text("job 8\n")
    process = start("logs", runs, "last", "live")
    assert process.stdout.readline() == b"[job] job 8\n"
    process.stdout.close()
    process.stderr.close()

    end = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert process.poll() is not None


def test_cancel_marks_the_run_even_without_slurm(runs):
    """The marks alone end it: the supervisor reads them."""
    process = start("cancel", runs, "9")
    run = runs / "new-20261121-100000"
    end = time.monotonic() + 10
    while not (run / "stop").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.communicate()

    assert (run / "cancelled").exists()
    assert (run / "stop").exists()
