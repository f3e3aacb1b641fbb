"""How far a run is, from a few parts of its files."""

import json
import os
import time

import pytest

from clusterwright.onhost.snapshot import active_runs


@pytest.fixture
def made(tmp_path):
    """`made(steps)` is a run's folder with that many steps of rank 0, a second each."""

    def make(steps, name="gpt-20261123-000000", begin=0, record=None, **plan):
        run = tmp_path / name
        (run / "events").mkdir(parents=True, exist_ok=True)
        (run / "job.json").write_text(json.dumps(record or {}))
        start = time.time() - steps
        events = [
            {
                "time": start,
                "event": "plan",
                "generation": 1,
                "step": begin,
                "total_steps": begin + 10 * steps,
                **plan,
            }
        ]
        events += [
            {
                "time": start + at,
                "event": "step",
                "generation": 1,
                "step": begin + at,
                "loss": 1 / at,
                "tokens": 100,
            }
            for at in range(1, steps + 1)
        ]
        with (run / "events" / "rank-00000.jsonl").open("a") as file:
            file.writelines(json.dumps({**event, "host": "n1", "rank": 0}) + "\n" for event in events)
        (run / "pulse").touch()
        return run

    return make


def look(run, limit_s=30):
    """What is said of it."""
    return active_runs.read_runs(str(run.parent), [run.name], limit_s)[0].get(run.name)


def test_a_run_says_its_step_speed_and_curve(made):
    """Step, loss, tokens a second, the time left, and points over the whole length."""
    found = look(made(500))

    assert (found["state"], found["step"], found["total_steps"], found["loss"]) == (
        "running",
        500,
        5000,
        1 / 500,
    )
    assert found["tokens_per_s"] == pytest.approx(100, rel=0.01)
    assert found["eta_s"] == pytest.approx(4500, rel=0.01)
    steps = [step for step, _ in found["curve"]]
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1] > 450) == (1, True)


def test_of_a_huge_file_little_is_read(made, monkeypatch):
    """200,000 steps; the newest plan is found by the time at which its generation began."""
    run = made(200_000)
    size = (run / "events" / "rank-00000.jsonl").stat().st_size
    read, real = [], active_runs.history.parse

    def counted(data):
        read.append(len(data))
        return real(data)

    monkeypatch.setattr(active_runs.history, "parse", counted)  # nothing else tells how much was read
    found = look(run)
    assert (found["step"], found["total_steps"]) == (200_000, 2_000_000)
    assert sum(read) < size / 20
    assert len(found["curve"]) > 60


def test_steps_that_were_done_again_count_as_they_were_done_last(made):
    """A restart from step 100 after 300: the curve goes back with it."""
    made(300)
    found = look(made(50, begin=100))

    assert found["step"] == 150
    assert max(step for step, _ in found["curve"]) <= 150


@pytest.mark.parametrize(
    "damage",
    [b'{"time": 1, "event": "step", "st', b"\0" * 5000, b'[1, 2]\n"x"\n', b'{"time": 9e99, "event": "step"}\n',
     b'{"time": 1, "event": "step", "step": 7, "loss": NaN}\n'],
)  # fmt: skip
def test_events_that_are_cut_or_are_none_are_passed_over(made, damage):
    """A host died while it wrote, a disk gave zeros, a stranger wrote into the folder."""
    run = made(40)
    with (run / "events" / "rank-00000.jsonl").open("ab") as file:
        file.write(damage)

    found = active_runs.read_runs(str(run.parent), [run.name], 30)
    assert found[0].get(run.name, {}).get("state", "running") == "running"
    assert len(found[0]) + found[1] == 1


def test_states(made):
    """Begun but not heard, silent, ended; and a job that is no run of ours."""
    run = made(3)
    os.utime(run / "pulse", (1, 1))
    assert look(run)["state"] == "silent"
    (run / "pulse").unlink()
    assert look(run)["state"] == "starting"
    (run / "ended.json").write_text('{"outcome": "failed"}')
    assert look(run)["state"] == "failed"
    assert active_runs.read_runs(str(run.parent), ["other", "../x", ""], 30) == ({}, 0)


def test_the_age_of_the_newest_whole_checkpoint(made):
    """One without a manifest is still being written."""
    run = made(3)
    assert look(run)["checkpoint_age_s"] is None
    for step in (10, 20):
        (run / "checkpoints" / f"step-{step:08d}").mkdir(parents=True)
    (run / "checkpoints" / "step-00000010" / "manifest.json").write_text("{}")
    os.utime(run / "checkpoints" / "step-00000010" / "manifest.json", (time.time() - 60, time.time() - 60))

    assert look(run)["checkpoint_age_s"] == pytest.approx(60, abs=20)


def test_runs_for_which_there_is_no_time_are_counted(made):
    """They are named as missing."""
    run = made(3)

    assert active_runs.read_runs(str(run.parent), [run.name], -1) == ({}, 1)
