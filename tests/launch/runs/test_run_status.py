"""How a run stands, as the control host says it."""

import json
import os
import time

import pytest


def write(run, now, name, *lines):
    """Events, `time` being seconds ago."""
    text = "".join(json.dumps({**line, "time": now - line["time"]}) + "\n" for line in lines)
    (run / "events" / f"{name}.jsonl").write_text(text)


@pytest.fixture
def run(runs):
    """Two hosts and a spare; one rank was killed, its host lost later, and the spare trains in its place."""
    run, now = runs / "new-20261121-100000", time.time()
    (run / "job.json").write_text(json.dumps({"local": True, "submitted": now - 120}))
    one, two = {"generation": 1, "host": "a"}, {"generation": 2, "host": "a"}
    write(
        run, now, "supervisor-1",
        {"time": 100, "event": "job_start", "job_id": "8", "hosts": ["a", "b", "c"], "ranks": 2},
        {"time": 95, "event": "generation_start", "hosts": ["a", "b"], **one},
        {"time": 50, "event": "host_lost", "lost_host": "b", "heartbeat_age_s": 2.5, **one},
        {"time": 50, "event": "generation_end", "reason": "host-lost", **one},
        {"time": 49, "event": "generation_start", "hosts": ["a", "c"], **two},
    )  # fmt: skip
    write(
        run, now, "agent-a", {"time": 98, "event": "standby", "host": "a", "seconds": 2.0},
        {"time": 98, "event": "standby", "host": "c", "reason": "too little memory"},
    )  # fmt: skip
    write(
        run, now, "rank-0",
        {"time": 90, "event": "plan", "step": 0, "total_steps": 100, "rank": 0, **one},
        {"time": 80, "event": "step", "step": 30, "seconds": 1, "busy": 1, "loss": 3.5, "rank": 0, **one},
        {"time": 40, "event": "restored", "step": 30, "source": "memory", "rank": 0, **two},
        {"time": 20, "event": "step", "step": 40, "seconds": 1, "busy": 1, "loss": 3.0, "rank": 0, **two},
        {"time": 10, "event": "step", "step": 60, "seconds": 1, "busy": 20, "loss": 2.5, "rank": 0, **two},
        {"time": 9, "event": "checkpoint_staged", "step": 60, "seconds": 0.1, "rank": 0, **two},
        {"time": 8, "event": "copy", "step": 58, "seconds": 0.1, "rank": 0, **two},
    )  # fmt: skip
    (run / "pulse").touch()
    return run


@pytest.fixture
def found(run, done_far):
    """The document."""
    code, out, err = done_far("status", run.parent, "last", "json")
    assert code == 0, err
    return json.loads(out)


def test_progress_is_that_of_the_newest_generation(found):
    """Steps, rate, time left, loss."""
    assert (found["state"], found["step"], found["total_steps"], found["loss"]) == ("running", 60, 100, 2.5)
    assert found["steps_per_s"] == pytest.approx(2, rel=0.05)
    assert found["eta_s"] == pytest.approx(20, rel=0.05)


def test_hosts_are_told_apart(found):
    """Who trains, who is away, who can fork ranks and why one cannot."""
    assert (found["generation"], found["hosts"], found["away"], found["spares"]) == (2, ["a", "c"], ["b"], [])
    assert [(each["host"], each["ready"], each["reason"]) for each in found["standbys"]] == [
        ("a", True, ""),
        ("c", False, "too little memory"),
    ]


def test_what_it_could_go_back_to(found):
    """The folder of step 25 has no manifest; step 60 is being written; step 58 is in memory."""
    assert (found["verified"], found["damaged"], found["unverified"], found["in_memory"]) == (
        None,
        [25],
        60,
        58,
    )


def test_failures_and_the_ledger_so_far(found):
    """With its first fault in words, and a ledger until now."""
    (failure,) = found["failures"]

    assert failure["first_failure"] == "host b was lost, no message for 2.5 s"
    assert failure["recovery_s"] == pytest.approx(32.5, abs=0.5)
    assert found["ledger"]["wall_s"] >= 120
    assert found["ledger"]["gpu_s"]["queue"] == pytest.approx(20 * 6, abs=6)


def test_people_get_lines(run, done_far):
    """The same in a screen."""
    _, out, _ = done_far("status", run.parent, "last", "text")

    assert "generation  2 on a, c; lost b\n" in out
    assert "step        60 of 100, 2 steps/s, time left 20.0 s\n" in out
    assert "checkpoint  none verified; step 60 is being written; damaged: 25\n" in out
    assert "standby     ready on a; c: too little memory\n" in out
    assert (
        "  generation 1, host-lost: host b was lost, no message for 2.5 s; new progress after 32.5 s\n" in out
    )
    assert "\ngoodput: 6 GPUs" in out
    assert len(out.splitlines()) <= 24


def test_prometheus_gets_its_text(run, done_far):
    """Step and bins."""
    _, out, _ = done_far("status", run.parent, "last", "metrics")

    assert 'clusterwright_run_step{run="new-20261121-100000"} 60\n' in out


def test_a_dead_supervisor_is_seen(run, done_far):
    """Its pulse has stopped, and the run has no end: nothing is counted from then on."""
    os.utime(run / "pulse", (time.time() - 60,) * 2)
    _, out, _ = done_far("status", run.parent, "last", "json")
    found = json.loads(out)

    assert found["state"] == "gone"
    assert found["reason"].startswith("last heartbeat of its supervisor")
    assert found["ledger"]["wall_s"] == pytest.approx(112, abs=1)


def test_without_slurm_nobody_knows(run, done_far):
    """A run of a cluster whose pulse has stopped, seen where Slurm does not answer."""
    (run / "job.json").write_text("{}")
    os.utime(run / "pulse", (time.time() - 60,) * 2)
    _, out, _ = done_far("status", run.parent, "last", "json")

    assert json.loads(out)["state"] == "unknown"


def test_an_ended_run_says_how(runs, done_far):
    """Its outcome and why; an empty folder has no ledger and no checkpoint."""
    _, out, _ = done_far("status", runs, "7", "text")

    assert "state       no-progress: again and again\n" in out
    assert "step        none yet\n" in out
    assert out.endswith("goodput: no job of this run has started\n")
