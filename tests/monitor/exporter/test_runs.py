"""Runs as their events tell them: read once, in bounds, whatever somebody has put into the folder."""

import json
import os
import time
from pathlib import Path

import pytest

from clusterwright.onhost.exporter import run_events
from clusterwright.onhost.exporter.collectors.control_host import runs
from clusterwright.onhost.supervisor.goodput import figures, history


class Run:
    """A run's folder."""

    def __init__(self, folder, *, begun=None, steps=0):
        self.folder, self.begun = folder, begun or time.time() - 600
        (folder / "events").mkdir(parents=True)
        record = {"submitted": self.begun, "job": {"name": "gpt <b>", "account": "language"}}
        (folder / "job.json").write_text(json.dumps(record))
        (folder / "pulse").write_text("{}")
        self.write("supervisor-1", "job_start", 0, job_id="42", hosts=["n1"], ranks=1)
        self.write("supervisor-1", "generation_start", 1, generation=1, hosts=["n1"])
        self.write("rank-00000", "process_start", 2, generation=1, rank=0)
        self.write("rank-00000", "group_ready", 3, generation=1, rank=0, world_size=1)
        self.write("rank-00000", "plan", 4, generation=1, rank=0, step=0, total_steps=10**6, batch=32)
        for number in range(1, steps + 1):
            self.step(number)

    def write(self, name, event, second, **more):
        """One event, so many seconds after the begin."""
        line = {"time": self.begun + second, "event": event, "host": "n1", "generation": 0, **more}
        with (self.folder / "events" / f"{name}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    def step(self, number, seconds=0.1):
        """A step that is complete."""
        more = {
            "step": number,
            "seconds": seconds,
            "busy": number * seconds,
            "waited": 0.01 * number,
            "loss": 1.5,
            "tokens": 1000,
            "communicated": 0.02 * number,
            "communicated_of": number * seconds,
        }
        self.write("rank-00000", "step", 5 + number * seconds, generation=1, rank=0, **more)

    def put(self, name, text):
        """Whatever text, in one of its files."""
        with (self.folder / "events" / name).open("a") as file:
            file.write(text)


@pytest.fixture
def folder(tmp_path):
    """The folder of runs."""
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


@pytest.fixture
def look(settings, samples, folder):
    """`look(state)`: one round, by family of the run `one`."""

    def found(state):
        rows = samples(runs.collect(settings(control=True, runs=str(folder)), state))
        return {key[0]: value for key, value in rows.items() if ("run", "one") in key}

    return found


def test_a_run_says_what_status_says(folder, look, samples, settings):
    """Its speed, its loss, its ledger; and who it belongs to."""
    Run(folder / "one", steps=100)
    found = look({})

    assert found["run_step"] == 100
    assert found["run_loss"] == 1.5
    assert found["run_steps_per_second"] == pytest.approx(10, rel=0.01)
    assert found["run_tokens_per_second"] == pytest.approx(10000, rel=0.01)
    assert found["run_step_seconds"] == pytest.approx(0.1)
    assert found["run_running"] == 1
    assert found["run_data_wait_ratio"] == pytest.approx(0.1, rel=0.05)
    assert found["run_communication_ratio"] == pytest.approx(0.2, rel=0.05)
    rows = samples(runs.collect(settings(control=True, runs=str(folder)), {}))
    (info,) = [dict(key[1:]) for key in rows if key[0] == "run_info"]
    assert (info["job"], info["account"], info["name"], info["user"]) == ("42", "language", "gpt <b>", "root")


def test_a_run_that_stands_still_gets_older(folder, look):
    """Since its last step, and since its first for want of a checkpoint."""
    one = Run(folder / "one", steps=100)
    found = look({})
    assert found["run_stalled_seconds"] == pytest.approx(600 - 15, abs=30)
    assert found["run_checkpoint_age_seconds"] == pytest.approx(600 - 5, abs=30)
    one.write("rank-00000", "checkpoint", 590, generation=1, rank=0, step=100)

    assert look({})["run_checkpoint_age_seconds"] == pytest.approx(10, abs=30)


def test_the_slow_rank_is_named(folder, samples, settings):
    """By its number and host."""
    one = Run(folder / "one", steps=100)
    one.write("rank-00003", "straggler", 15, generation=1, rank=3, ratio=1.8, step=90)
    rows = samples(runs.collect(settings(control=True, runs=str(folder)), {}))

    assert rows["run_slow_rank_ratio", ("host", "n1"), ("rank", "3"), ("run", "one")] == 1.8


def test_lines_are_read_once_as_they_come(folder, look):
    """One that is half written counts once it is whole."""
    state, one = {}, Run(folder / "one", steps=10)
    assert look(state)["run_step"] == 10
    line = json.dumps({"time": time.time(), "event": "step", "generation": 1, "step": 11, "loss": 1.25})
    one.put("rank-00000.jsonl", line[:20])
    assert look(state)["run_step"] == 10
    one.put("rank-00000.jsonl", line[20:] + "\n")

    assert look(state)["run_step"] == 11


def test_a_huge_file_costs_neither_memory_nor_time(folder, look, monkeypatch):
    """Its middle is not read; what is said of it is what all of it says."""
    one = Run(folder / "one", steps=5)
    with (one.folder / "events" / "rank-00000.jsonl").open("a") as file:
        for number in range(6, 60_001):
            file.write(json.dumps({
                "time": one.begun + 5 + number * 0.01, "event": "step", "generation": 1, "rank": 0, "step": number,
                "seconds": 0.01, "busy": number * 0.01, "waited": 0, "loss": 1.0, "host": "n1",
            }) + "\n")  # fmt: skip
    size = Path(file.name).stat().st_size
    assert size > 3 * history.FULL_READ_BYTES
    read = []
    real = run_events._read
    monkeypatch.setattr(run_events, "_read", lambda *where: read.append(real(*where)) or read[-1])
    state = {}
    found = look(state)

    assert found["run_step"] == 60_000
    assert sum(map(len, read)) < 100_000
    assert len(state["runs"]["one"].events.all()) < 200
    whole = figures.work_out(history.read(str(one.folder), full_read_bytes=1 << 40), one.begun + 605)
    kept = figures.work_out(history.History(state["runs"]["one"].events.all(), one.begun), one.begun + 605)
    assert kept.goodput == pytest.approx(whole.goodput, rel=0.01)


def test_a_line_without_end_is_passed_over(folder, look, monkeypatch):
    """In pieces; the next line is an event again."""
    monkeypatch.setattr(run_events, "PIECE", 1 << 20)
    state, one = {}, Run(folder / "one", steps=10)
    look(state)
    one.put("rank-00000.jsonl", "x" * (3 << 20))
    for _ in range(5):
        look(state)
    one.put("rank-00000.jsonl", "\n")
    one.step(11)
    for _ in range(3):
        found = look(state)

    assert found["run_step"] == 11


@pytest.mark.parametrize(
    "line",
    [
        "{", "[]", '"step"', "null", "\x00\x01", '{"event": "step"}', '{"event": 7, "time": 1}',
        '{"event": "step", "time": "now"}', '{"event": "step", "time": 1e300, "step": 1}',
        '{"event": "step", "time": 1, "generation": {"a": 1}}', "[" * 100_000, '{"time": NaN, "event": "step"}',
    ],
)  # fmt: skip
def test_what_is_no_event_changes_nothing(folder, look, line):
    """Cut lines, other JSON, numbers that are none."""
    state, one = {}, Run(folder / "one", steps=10)
    one.put("rank-00000.jsonl", line + "\n")
    one.step(11)

    assert look(state)["run_step"] == 11


def test_events_that_make_no_sense_take_nothing_from_other_runs(folder, look, samples, settings):
    """A user can write anything there."""
    Run(folder / "one", steps=10)
    bad = Run(folder / "bad", steps=10)
    bad.write("rank-00000", "step", 20, generation=1, step={"a": 1}, seconds="long")
    rows = samples(runs.collect(settings(control=True, runs=str(folder)), {}))

    assert look({})["run_step"] == 10
    assert rows["run_unreadable", ("run", "bad")] == 1


def test_a_pipe_or_a_link_in_the_folder_is_not_opened(folder, look, tmp_path):
    """The one would hold us for ever, the other lead anywhere."""
    one = Run(folder / "one", steps=10)
    os.mkfifo(one.folder / "events" / "a.jsonl")
    (one.folder / "events" / "b.jsonl").symlink_to("/dev/zero")
    (folder / "two").mkdir()
    os.mkfifo(folder / "two" / "job.json")

    assert look({})["run_step"] == 10


def test_a_run_that_ended_an_hour_ago_is_no_news(folder, look):
    """One that has just ended is, but does not grow older."""
    state, one = {}, Run(folder / "one", steps=10)
    ended = one.folder / "ended.json"
    ended.write_text("{}")
    found = look(state)
    assert found["run_running"] == 0
    assert "run_stalled_seconds" not in found
    os.utime(ended, (time.time() - 4000,) * 2)

    assert look(state) == {}
    assert state["past"] == {"one"}


def test_a_folder_that_is_gone_is_forgotten(folder, look):
    """As when a user has tidied up."""
    state, one = {}, Run(folder / "one", steps=10)
    look(state)
    one.folder.rename(folder.parent / "elsewhere")

    assert look(state) == {}
    assert state["runs"] == {}


def test_a_file_that_was_cut_is_read_on_from_where_it_grows(folder, look):
    """Nothing of it counts twice."""
    state, one = {}, Run(folder / "one", steps=10)
    look(state)
    path = Path(one.folder, "events", "rank-00000.jsonl")
    path.write_text(path.read_text()[:100])

    assert look(state)["run_step"] == 10


def test_a_counter_of_a_run_never_falls(folder, samples, settings):
    """Steps that turn out to be lost leave their bin; for Prometheus that would be a new start."""
    state, one = {}, Run(folder / "one", steps=100)

    def steps():
        rows = samples(runs.collect(settings(control=True, runs=str(folder)), state))
        return rows["run_gpu_seconds_total", ("bin", "step"), ("run", "one")]

    before = steps()
    one.write("supervisor-1", "generation_end", 20, generation=1, reason="ranks-failed")
    one.write("supervisor-1", "generation_start", 21, generation=2, hosts=["n1"])
    one.write("rank-00000", "process_start", 22, generation=2, rank=0)
    one.write("rank-00000", "resumed", 23, generation=2, rank=0, step=10)

    assert steps() == before
    plain = figures.work_out(history.read(str(one.folder)), time.time())
    assert plain.accounting.bins["step"] / 1e6 < before


def test_many_runs_of_one_user_leave_places_for_others(monkeypatch):
    """A run that starts later too; and what is monitored stays so."""
    monkeypatch.setattr(runs, "MOST", 10)
    eve = [(1001, False, -float(number), f"e{number}") for number in range(50)]
    bob = [(1002, True, -1.0, f"b{number}") for number in range(3)]
    chosen = runs.choose(eve + bob)

    assert {"b0", "b1", "b2"} <= chosen
    assert len(chosen) == 10


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "checkpoint", "time": 1, "x": [' + ",".join(["[]"] * 30_000) + "]}",
        '{"event": "step", "generation": 1, "time": 1, "step": 1, "x": [' + ",".join(["[]"] * 30_000) + "]}",
    ],
    ids=["brackets", "steps"],
)
def test_a_run_of_brackets_takes_little_memory(folder, look, monkeypatch, line):
    """It is named, its events are dropped, and it is not read again."""
    monkeypatch.setattr(run_events, "MOST_BYTES", 4 << 20)
    one, state = Run(folder / "one", steps=5), {}
    for number in range(20):
        one.put(f"a{number}.jsonl", line.replace('"generation": 1', f'"generation": {number}') + "\n")

    assert look(state) == {"run_unreadable": 1}
    assert state["runs"]["one"].events.all() == []
    assert look(state) == {"run_unreadable": 1}


def test_the_runs_of_one_owner_share_a_limit_of_memory(folder, look, samples, settings, monkeypatch):
    """Also by their job files."""
    monkeypatch.setattr(runs, "OWNER_BYTES", 1 << 20)
    (Run(folder / "evil").folder / "job.json").write_text('{"x": [' + ",".join(["[]"] * 30_000) + "]}")
    Run(folder / "one")

    rows = samples(runs.collect(settings(control=True, runs=str(folder)), {}))

    assert [dict(key[1:])["run"] for key in rows if key[0] == "run_unreadable"] == ["evil"]
    assert look({})["run_running"] == 1


@pytest.mark.parametrize(
    "value", ['"x"', "[]", "1" + "0" * 400, "1e999"], ids=["text", "list", "huge", "inf"]
)
def test_a_value_that_is_no_number_does_not_affect_other_runs(folder, look, value):
    """The collector goes on."""
    evil = Run(folder / "evil", steps=3)
    line = '{"event": "step", "generation": 1, "time": %f, "step": 4, "loss": %s, "lr": %s}\n'
    evil.put("rank-00000.jsonl", line % (time.time(), value, value))
    Run(folder / "one", steps=3)

    assert look({})["run_step"] == 3


def test_a_run_whose_metrics_take_too_long_does_not_affect_other_runs(folder, samples, settings, monkeypatch):
    """It is not computed again."""
    Run(folder / "one", steps=10)
    Run(folder / "slow", steps=10)
    computed, work_out = [], figures.work_out

    def work(run_history, now):
        computed.append(run_history)
        while len(computed) == 2:  # the second of two runs
            pass
        return work_out(run_history, now)

    monkeypatch.setattr(runs, "RUN_CPU_S", 0.2)
    monkeypatch.setattr(runs.figures, "work_out", work)
    state = {}
    for _ in range(2):
        rows = samples(runs.collect(settings(control=True, runs=str(folder)), state))
        assert rows["run_step", ("run", "one")] == 10
        assert rows["run_unreadable", ("run", "slow")] == 1
    assert len(computed) == 3
