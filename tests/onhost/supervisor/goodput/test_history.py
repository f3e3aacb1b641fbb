"""The events of a run, read from its folder."""

import json

import pytest

from clusterwright.onhost.supervisor.goodput import figures, history
from clusterwright.onhost.supervisor.goodput.timeline import SECOND

LOSS = {"loss": 1.2345, "loss_hex": "0x1.3c083126e978dp+0", "epoch": 0}


def write(path, lines):
    """Events as a writer appends them."""
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def run(tmp_path):
    """A folder for events."""
    (tmp_path / "events").mkdir()
    return tmp_path


def long_run(run, steps, generations):
    """Steps of 50 ms and 2 ms between them; each generation but the last dies with seven steps that are done again."""
    now, step, supervisor, rank = 1000.0, 0, [], []
    supervisor.append({"time": now, "event": "job_start", "job_id": "1", "hosts": ["a"], "ranks": 2})
    for number in range(1, generations + 1):
        mark = {"generation": number, "host": "a"}
        supervisor.append({"time": now, "event": "generation_start", "hosts": ["a"], **mark})
        now, busy = now + 1, 0.0
        rank.append({"time": now, "event": "resumed", "rank": 0, "step": step, **mark})
        for _ in range(steps // generations):
            now, step, busy = now + 0.052, step + 1, busy + 0.05
            said = {"step": step, "seconds": 0.05, "busy": busy}
            rank.append({"time": now, "event": "step", "rank": 0, **LOSS, **said, **mark})
        supervisor.append({"time": now + 1, "event": "rank_exit", "rank": 1, "code": -9, **mark})
        now += 1.5
        why = "ranks-failed" if number < generations else "finished"
        supervisor.append({"time": now, "event": "generation_end", "reason": why, **mark})
        step -= 7
    supervisor.append({"time": now, "event": "job_end", "outcome": "finished"})
    write(run / "events" / "supervisor-1.jsonl", supervisor)
    write(run / "events" / "rank-00000.jsonl", rank)


def test_what_is_left_out_changes_nothing(run):
    """A long file is read around the moments only, and the ledger is that of all its lines."""
    long_run(run, 20000, 5)
    thinned, whole = history.read(str(run)), history.read(str(run), full_read_bytes=1 << 30)
    few, all_of_them = (figures.work_out(each) for each in (thinned, whole))

    assert len(thinned.events) < len(whole.events) / 4
    assert few.accounting.bins == pytest.approx(all_of_them.accounting.bins, abs=10)  # microseconds
    assert not few.accounting.estimated
    assert [each.document() for each in few.failures] == [each.document() for each in all_of_them.failures]


def test_of_a_long_run_little_is_read(run):
    """Of 200,000 steps in 40 MB some hundred, and the figures are those of all."""
    one = json.dumps({"time": 1.5, "event": "step", "host": "node", "generation": 1, "rank": 0, "step": 777, **LOSS,
                      "seconds": 0.0512345678, "busy": 2.25})  # fmt: skip
    form = one.replace("1.5", "%d.123456", 1).replace("777", "%d").replace("2.25", "%d.03125")
    with (run / "events" / "rank-00000.jsonl").open("w") as file:
        file.writelines(form % (1700000000 + step, step, step) + "\n" for step in range(1, 200_001))
    write(run / "events" / "supervisor-1.jsonl", [
        {"time": 1700000000, "event": "job_start", "job_id": "1", "hosts": ["a"], "ranks": 1},
        {"time": 1700000000, "event": "generation_start", "generation": 1, "hosts": ["a"]},
    ])  # fmt: skip
    found = history.read(str(run))

    assert len(found.events) < 1000
    assert figures.work_out(found).accounting.bins["step"] / SECOND == pytest.approx(2e5, abs=2)


def test_torn_lines_are_passed_over(run):
    """Half a line at the end, half a line in the middle that a full disk left, and what is no event."""
    text = '{"time": 1, "event": "job_start"}\n{"time": 2, "ev\n{"time": 3, "event": "x"}\n[]\n7\n{"time": "4"}\n'
    (run / "events" / "a.jsonl").write_text(text + '{"time": 5, ')

    assert [event["time"] for event in history.read(str(run)).events] == [1, 3]


def test_the_record_says_when_it_was_submitted(run):
    """And what a GPU hour costs, where that was known."""
    (run / "job.json").write_text(json.dumps({"submitted": 7.5, "price": {"amount": 2, "currency": "USD"}}))

    assert history.read(str(run))[1:3] == (7.5, {"amount": 2, "currency": "USD"})


def test_a_folder_without_events_is_an_empty_history(tmp_path):
    """A run that has not begun, or a folder that is half deleted."""
    assert history.read(str(tmp_path)).events == []
