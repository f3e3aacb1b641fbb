"""Valid JSON of one user with other types and numbers than ours; the runs of others are read."""

import json
import os
import resource
import subprocess
import sys
import time

import pytest

from clusterwright.monitor.report.month_figures import Span, month
from clusterwright.onhost.snapshot import active_runs, history

STEP = {"event": "step", "time": 1, "generation": 1, "loss": 1.0}
CURVES = (
    "import sys; from clusterwright.onhost.runs import run_series; print(len(run_series.text(sys.argv[1])))"
)


@pytest.fixture
def made(tmp_path):
    """`made(name, ...)`: a run's folder, with files of these names."""

    def make(name, steps=(1, 2), **files):
        run = tmp_path / name
        (run / "events").mkdir(parents=True)
        lines = [json.dumps({**STEP, "step": step, "time": time.time()}) + "\n" for step in steps]
        (run / "events" / "rank-00000.jsonl").write_text("".join(lines))
        for file, content in {"job": {}, **files}.items():
            (run / f"{file}.json").write_text(json.dumps(content))
        return run

    return make


@pytest.mark.parametrize(
    "record", [{"gpu": "x"}, {"gpu": {"peak": "x"}}, {"gpu": [1]}, {"price": 1, "job": 1}]
)
def test_a_record_of_other_types_hides_no_run(made, record):
    """From `wright top` and the web page."""
    evil, good = made("evil", job=record), made("good")
    found, _ = active_runs.read_runs(str(evil.parent), ["evil", "good"], 30)

    assert found["good"]["step"] == 2
    assert good.name in found


@pytest.mark.parametrize(
    "ledger",
    [
        {"failures": [1]}, {"failures": 1}, {"failures": [{"time": "x"}]}, {"gpu_s": 1}, {"gpu_s": [1]},
        {"gpu_s": {"step": "x", "launch": -1, "idle": [1], "queue": "NaN", "hours of eve": 1e12}},
        {"gpu_s": {"step": {}}, "goodput": "x", "failures": [{"reason": {}, "time": 1}]},
    ],
)  # fmt: skip
def test_a_ledger_of_other_types_ends_no_report(made, ledger):
    """Of a month."""
    evil, _ = made("evil", ledger=ledger), made("good", ledger={"gpu_s": {}, "goodput": 0.9})
    rows = list(history._runs(str(evil.parent), 0.0, time.time() + 9, []))

    assert 0.9 in [row["goodput"] for row in rows]
    assert all(set(row["gpu_s"].values()) <= {0.0} and "hours of eve" not in row["gpu_s"] for row in rows)
    month(Span(0.0, time.time(), 8), [], rows, {})


@pytest.mark.skipif(os.geteuid() != 0, reason="folders of two users need root")
def test_runs_without_accounting_of_one_user_leave_places_for_others(made, monkeypatch):
    """The accounting of running runs is computed, for a limited number of them."""
    monkeypatch.setattr(history, "NEWEST_RUNS", 2)
    monkeypatch.setattr(history, "as_owner", lambda _folder, work, _limits: work())
    monkeypatch.setattr(history, "_goodput_accounting", lambda _folder, _now: {"gpu_s": {"step": 1}})
    good = made("good")
    for number in range(3):
        os.chown(made(f"evil-{number}"), 41002, 41002)
        os.chown(good.parent / f"evil-{number}" / "job.json", 41002, 41002)
    rows = list(history._runs(str(good.parent), 0.0, time.time() + 9, []))

    assert "good" in [row["run"] for row in rows]
    assert len(rows) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="folders of two users need root")
def test_a_user_with_many_uids_takes_no_time_of_others_and_the_report_tells_what_it_did_not_read(
    made, monkeypatch
):
    """Each of their runs takes long to read."""
    made("good", ledger={"gpu_s": {"step": 1}})
    for number in range(30):
        run = made(f"evil-{number}", ledger={"gpu_s": {"step": 1}})
        for path in (run, run / "job.json"):
            os.chown(path, 7_000_000 + number, 7_000_000 + number)
    read = history.read_object
    monkeypatch.setattr(history, "read_object", lambda path: time.sleep(0.1 * ("evil" in path)) or read(path))
    monkeypatch.setattr(history, "RUNS_S", 2.0)
    monkeypatch.setattr(history.run_folders, "newest", lambda runs: sorted(os.listdir(runs)))
    result = {"silent": {}}
    history._add_runs(result, {"runs": str(made("last").parent), "begin": 0.0, "end": time.time() + 9})
    names = [row["run"] for row in result["runs"]]

    assert "good" in names
    assert len(names) < 30
    assert result["silent"]["runs"].startswith(f"{32 - len(names)} were not read, among them evil-")


def test_a_step_number_allocates_nothing(made):
    """Of a run whose last steps are small, so that a point of a curve is one step."""
    steps = [2_000_000_000, *[5] * 2000]
    one = made("evil", steps)
    limit = 1 << 30
    done = subprocess.run(
        [sys.executable, "-c", CURVES, one], capture_output=True, text=True, timeout=60, check=False,
        env=os.environ, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
