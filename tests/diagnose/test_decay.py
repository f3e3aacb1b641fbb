"""`why` and `status` tell what becomes slowly worse in a run, from the events and samples in its folder."""

import json
import time

import pytest

from clusterwright.diagnose.gather.decay import decay_sources
from clusterwright.diagnose.subjects import judge_sources, log
from clusterwright.onhost.runs import run_decay, run_status

STEPS = 900


def write_run(folder, seconds, *, padding=""):
    """Write a run of one rank, whose steps take that long by their share of the run."""
    (folder / "events").mkdir(parents=True)
    (folder / "job.json").write_text("{}")
    (folder / "ended.json").write_text('{"outcome": "finished", "code": 0, "reason": ""}')
    moment = time.time() - 3000
    common = {"host": "n1", "generation": 1, "rank": 0}
    rows = [
        {
            "time": moment,
            "event": "plan",
            "step": 0,
            "batch": 256,
            "device": "cpu",
            "total_steps": STEPS,
            **common,
        }
    ]
    for step in range(1, STEPS + 1):
        length = seconds(step / STEPS) * (1 + step % 7 / 200)
        moment += length
        rows.append(
            {"time": moment, "event": "step", "step": step, "seconds": length, "padding": padding, **common}
        )
    (folder / "events" / "rank-00000.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize("padding", ["", "x" * 2600], ids=["read-in-full", "read-at-even-places"])
def test_why_tells_that_a_run_slows_with_the_slope(tmp_path, padding):
    """From 256 samples/s to a half, though nothing failed; also in a file of several MiB."""
    diagnoses = log(write_run(tmp_path / "run", lambda share: 1 + share, padding=padding))

    assert diagnoses[0].mode == "other/training-slows"
    assert "samples/s, " in diagnoses[0].cause
    assert " per minute, since 20" in diagnoses[0].cause


def test_why_says_nothing_about_a_steady_run(tmp_path):
    """Nothing failed, nothing became worse."""
    folder = write_run(tmp_path / "run", lambda _: 1.0)

    assert [each.mode for each in log(folder) if "slow" in each.mode] == []
    assert "decay" not in run_status.text(str(folder), "text").replace('"decay": []', "")


def test_status_has_one_line_about_decay(tmp_path):
    """Below the speed, and as a field of the document."""
    folder = str(write_run(tmp_path / "run", lambda share: 1 + share))
    lines = [line for line in run_status.text(folder, "text").splitlines() if line.startswith("decay")]

    assert len(lines) == 1
    assert lines[0].startswith("decay       rates fall from ")
    assert json.loads(run_status.text(folder, "json"))["decay"][0].startswith("rates fall from ")


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        (
            "memory of the ranks on n2 grows from 10.1 GiB to 15.9 GiB, 3.6 GiB per hour; the last 40.0 GiB in 11 h",
            "host-oom/memory-grows",
            ("n2", "3.6 GiB per hour", "11 h"),
        ),
        (
            "memory left on n2 falls from 12.0 GiB to 3.1 GiB, 1.2 GiB per minute, since x, used up in about 3 min;",
            "host-oom/free-memory-falls",
            ("n2", "1.2 GiB per minute", "3 min"),
        ),
        (
            "GPU memory of rank 0 on n1 grows from 900 MiB to 2.0 GiB, 12 MiB per minute, since 2026-11-20 08:53",
            "gpu-oom/memory-grows",
            ("n1", "12 MiB per minute"),
        ),
        (
            "the wait for data grows from 5% to 40% of the time in steps, since 2026-11-20 08:53",
            "dataloader/falls-behind",
            ("5%", "40%", "since 2026-11-20"),
        ),
        (
            "n2 becomes slower: its own part of a step grows from 1.06 to 2.05 times that of the other hosts; 84%",
            "other/host-becomes-slow",
            ("n2", "2.05 times", "84%"),
        ),
        (
            "n2 stays slower: its own part of a step takes 2.50 times that of the other hosts, since x; 84%",
            "other/host-stays-slow",
            ("n2", "2.50 times", "84%"),
        ),
        (
            "rates are low each day at 02:00, 03:00: 33% lower, on 4 of 4 days",
            "other/slow-hours",
            ("02:00, 03:00", "33%"),
        ),
    ],
)
def test_each_kind_of_decay_has_its_failure_mode(text, mode, words):
    """With the host, the slope, and since when; a host is not excluded, since the job's user can write samples."""
    (diagnosis,) = judge_sources(list(decay_sources([("", text)])))

    assert diagnosis.mode == mode
    assert all(word in diagnosis.cause for word in words), diagnosis.cause
    assert not diagnosis.exclude


def test_a_slow_run_is_the_consequence_of_what_slows_it():
    """The host comes first, then the speed."""
    texts = [
        (
            "n2",
            "n2 becomes slower: its own part of a step grows from 1.0 to 2.0 times that of the other hosts, since x",
        ),
        ("", "rates fall from 256 to 128 samples/s, 5.8 per minute, since 2026-11-20 08:53"),
    ]
    diagnoses = judge_sources(list(decay_sources(texts)))

    assert [each.mode for each in diagnoses] == ["other/host-becomes-slow", "other/training-slows"]
    assert diagnoses[1].role == "cascade"


def test_events_that_a_user_damaged_have_no_decay(tmp_path):
    """Any text, and texts in place of numbers."""
    folder = write_run(tmp_path / "run", lambda share: 1 + share)
    path = folder / "events" / "rank-00000.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text(
        "".join(json.dumps({**row, "generation": ["x"], "seconds": "1"}) + "\n{\n" for row in rows)
    )

    assert run_decay.find_decays(str(folder)) == []
