"""A run that is followed: progress on a terminal, in a log file, and as JSON."""

import io
import json
import os
import pty
import subprocess
import sys
import time

import pytest

from clusterwright.edge.bundler import RUNS, bundle_script
from clusterwright.launch.follow.screen import Screen, able, strip_control_characters
from clusterwright.onhost.runs import run_progress

NOW = {
    "run": "gpt", "state": "running", "reason": "", "generation": 2, "hosts": 2, "step": 120, "total_steps": 400,
    "steps_per_s": 2.0, "eta_s": 140.0, "loss": 2.34567, "tokens_per_s": 18_800.0, "samples_per_s": 290.0,
    "flops_per_s": None, "mfu": 0.412, "data_wait": 0.031, "lr": 0.1, "norm": 1.0, "memory": 10, "goodput": 0.913,
    "losses": {"import": 0.05, "lost work": 0.02}, "failures": 1, "saved": 100,
}  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """Two ranks that say the same, of a run that has failed."""
    run = tmp_path / "gpt-20261122-120000"
    (run / "events").mkdir(parents=True)
    (run / "job.json").write_text(json.dumps({"local": True, "gpu": {"peak": {"bf16": 1e12}}}))
    for rank in range(2):
        (run / "logs/1/local1").mkdir(parents=True, exist_ok=True)
        (run / f"logs/1/local1/{rank}.out").write_text(f"hello\nmine {rank}\n")
    now = time.time()
    common = {"generation": 1, "rank": 0, "host": "local1"}
    events = [
        {"time": now - 20, "event": "job_start", "job_id": "1", "hosts": ["local1"], "ranks": 2, "generation": 0},
        {"time": now - 19, "event": "generation_start", "generation": 1, "hosts": ["local1"]},
        {"time": now - 18, "event": "group_ready", "world_size": 2, **common},
        {"time": now - 17, "event": "plan", "step": 0, "total_steps": 40, "batch": 8,
         "flops": 1e11, "dtype": "bfloat16",
         "device": "NVIDIA H100", "parameters": 10, "workers": 0, "cpus": 4, **common},
        *({"time": now - 16 + step / 2, "event": "step", "step": step, "loss": 5.0 - step / 10, "seconds": 0.5,
           "busy": step / 2, "waited": step / 20, "waited_most": step / 10, "tokens": 100, **common}
          for step in range(1, 21)),
        {"time": now - 5, "event": "rank_exit", "local_rank": 1, "code": 1, "message": "ValueError: no",
         "generation": 1,
         "rank": 1, "host": "local1"},
        {"time": now - 4, "event": "generation_end", "generation": 1, "reason": "ranks-failed"},
        {"time": now - 4, "event": "job_end", "outcome": "failed"},
    ]  # fmt: skip
    (run / "events" / "rank-00000.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    why = "too many restarts; first failure: rank 1 (local1, local 1) raised ValueError: no"
    (run / "ended.json").write_text(json.dumps({"outcome": "failed", "code": 1, "reason": why}))
    (run / "ledger.json").write_text("{}")
    return run


def follow(run, *form, out=subprocess.PIPE):
    """As ssh does it."""
    argv = [sys.executable, "-u", "-", "logs", str(run.parent), "last", "live", *form]
    return subprocess.run(
        argv, input=bundle_script(RUNS), stdout=out, stderr=subprocess.PIPE, timeout=150, check=False
    )


def test_a_log_file_gets_lines_and_the_end_names_the_first_rank(run):
    """What ranks say on stdout, how far it was on stderr."""
    done = follow(run)

    assert done.returncode == 1
    assert sorted(done.stdout.decode().splitlines()) == [
        "[local1:0-1] hello", "[local1:0] mine 0", "[local1:1] mine 1",
    ]  # fmt: skip
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("step 20/40, loss 3, 200 tokens/s, MFU 10.0%, data wait 20.0%, goodput ")
    assert line.endswith(
        "failed: too many restarts; first failure: rank 1 (local1, local 1) raised ValueError: no"
    )


def test_json_is_an_object_a_line(run):
    """Logs and progress alike; the share of waiting is that of the rank that waits longest."""
    told = [json.loads(line) for line in follow(run, "json").stdout.splitlines()]
    progress = next(each["progress"] for each in told if "progress" in each)

    assert {"from": ["local1:0", "local1:1"], "text": "hello"} in told
    assert (progress["step"], progress["total_steps"], progress["state"], progress["failures"]) == (
        20,
        40,
        "failed",
        1,
    )
    assert progress["mfu"] == pytest.approx(2 * 1e11 / (2 * 1e12))
    assert progress["data_wait"] == pytest.approx(0.2)
    assert progress["eta_s"] is None


def test_the_line_says_what_matters_first():
    """A narrow screen cuts off the rest."""
    assert run_progress.line(NOW) == (
        "step 120/400, loss 2.346, 18.8k tokens/s, MFU 41.2%, 2m20s left, data wait 3.1%,"
        " goodput 91.3% (import 5.0%, lost work 2.0%), generation 2, saved 100"
    )
    assert (
        run_progress.line({**NOW, "step": None, "state": "queued", "reason": "Resources"})
        == "queued: Resources"
    )


def test_logs_scroll_above_a_line_that_stays(monkeypatch):
    """It is drawn anew after each line, no wider than the screen, and at the end in full."""
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    screen = Screen(stream, ascii_only=True)
    screen.line(json.dumps({"progress": NOW}).encode())
    screen.line(json.dumps({"from": ["a:0"], "text": "hello"}).encode())
    screen.line(b"no JSON\n")
    screen.close()
    drawn = stream.getvalue().split("\r\x1b[K")

    assert drawn[1] == "###....... step 120/400, loss 2.346, 18.8k tokens/s, MFU 41"[:59]
    assert drawn[2] == "[a:0] hello\n"
    assert drawn[4] == "[?] no JSON\n"
    assert drawn[-1] == run_progress.line(NOW) + "\n"


def test_a_ranks_progress_bar_does_not_move_our_cursor():
    """Of a line that was drawn over itself, what it showed last."""
    assert strip_control_characters("10%\r50%\r100%\r") == "100%"
    assert strip_control_characters("a\x08b") == "a b"


def test_what_is_no_terminal_gets_plain_lines():
    """Nor does a dumb one."""
    leader, follower = pty.openpty()
    with os.fdopen(leader), os.fdopen(follower, "w") as terminal:
        assert able(terminal, {"TERM": "xterm"})
        assert not able(terminal, {"TERM": "dumb"})
    assert not able(io.StringIO(), {"TERM": "xterm"})
