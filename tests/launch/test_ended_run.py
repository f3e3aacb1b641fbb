"""Resume a run without Slurm: what is refused, and a local run that goes on from its checkpoint."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.errors import WrightError
from clusterwright.launch.ended_run import SILENT_S, find_ended, is_without_slurm

COUNTING = Path(__file__).parents[1] / "onhost" / "supervisor" / "counting.py"
NAME = "counting-20261127-120000"


@pytest.fixture
def runs(tmp_path, a_record):
    """A folder with one run of two hosts, whose supervisor wrote no outcome and is silent."""
    run = tmp_path / "runs" / NAME
    run.mkdir(parents=True)
    document = {**json.loads(a_record(run)), "local": False, "hosts": ["h1", "bob@h2"]}
    (run / "job.json").write_text(json.dumps(document))
    (run / "job.sh").write_text("true\n")
    (run / "pulse").touch()
    os.utime(run / "pulse", (time.time() - SILENT_S - 1,) * 2)
    return tmp_path / "runs"


@pytest.fixture
def a_record(a_job):
    """The text of job.json of a local run in a folder."""
    from clusterwright.launch.record import record

    return lambda run: record(a_job(), None, str(run), 0.0)


def refused(runs, reference=NAME):
    """The error of a run that cannot be resumed."""
    with pytest.raises(WrightError) as raised:
        find_ended(runs, reference)
    return raised.value


def test_a_run_is_cleared_of_its_end_only(runs):
    """Checkpoints, events and logs stay; the chain of supervisors begins anew."""
    run = runs / NAME
    for name in ("ended.json", "cancelled", "lease", "chain/1", "events/a.jsonl", "checkpoints/step-1"):
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_text("{}")
    find_ended(runs, NAME).clear_ending()

    files = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    assert files == {"job.json", "job.sh", "events/a.jsonl", "checkpoints/step-1"}


def test_a_missing_run_is_named_with_the_closest(runs):
    """With the folder that was searched."""
    error = refused(runs, NAME[:-1] + "1")

    assert error.code == "no-run"
    assert NAME in str(error)


def test_a_run_that_still_sends_heartbeats_is_left_alone(runs):
    """Also in the time in which its hosts choose the next supervisor; an outcome ends that."""
    os.utime(runs / NAME / "pulse")
    assert refused(runs).code == "run-not-ended"

    (runs / NAME / "ended.json").write_text('{"outcome": "failed", "code": 1}')
    assert find_ended(runs, NAME).record.host_names == ("h1", "h2")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@pytest.mark.parametrize("names", [("job.sh",), (".", "job.json"), (".", "job.json", "job.sh")])
def test_a_run_of_another_user_is_not_started(runs, names):
    """Its script would run with the rights of the caller."""
    for name in names:
        os.chown(runs / NAME / name, 65533, 65533)

    assert refused(runs).code == "run-of-other-user"


def test_a_run_that_others_could_exchange_is_not_started(runs):
    """All users may rename folders in the folder of the runs."""
    runs.chmod(0o777)

    assert refused(runs).code == "runs-exchangeable"


def test_a_linked_script_is_not_started(runs, tmp_path):
    """The run of the caller may have a link to a script of somebody else."""
    (tmp_path / "other.sh").write_text("true\n")
    (runs / NAME / "job.sh").unlink()
    (runs / NAME / "job.sh").symlink_to(tmp_path / "other.sh")

    assert refused(runs).code == "run-of-other-user"


@pytest.mark.parametrize(
    ("name", "text"), [("job.sh", None), ("job.json", "{"), ("job.json", '{"schema": 99}')]
)
def test_a_damaged_run_is_refused(runs, name, text):
    """A newer version's, too; nothing is removed."""
    (runs / NAME / name).unlink() if text is None else (runs / NAME / name).write_text(text)

    assert refused(runs).code == "file-unreadable"
    assert (runs / NAME / "pulse").exists()


def test_a_run_of_slurm_is_resumed_without_these_options(runs):
    """The error has the command."""
    document = json.loads((runs / NAME / "job.json").read_text())
    (runs / NAME / "job.json").write_text(json.dumps({**document, "hosts": []}))

    error = refused(runs)
    assert (error.code, is_without_slurm(runs / NAME)) == ("train-words", False)
    assert f"wright train --resume {NAME}" in str(error.findings[0].fix)


@pytest.mark.train
@pytest.mark.timeout(120)
def test_a_local_run_resumes_from_its_checkpoint(tmp_path, monkeypatch):
    """Canceled, then resumed by its name alone in the same folder, and not while it runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counting.py").write_bytes(COUNTING.read_bytes())
    wright = (sys.executable, "-m", "clusterwright")
    how = ("--local", "--time", "10m", "--set", 'checkpoint.every="5 steps"')
    with subprocess.Popen([*wright, "train", *how, "--", "python", "counting.py", "60", "0.1"]) as first:
        (run,) = until(lambda: list(tmp_path.glob("runs/counting-*")))
        until((run / "checkpoints" / "step-00000005").exists)
        refused = subprocess.run(
            [*wright, "train", "--resume", run.name], capture_output=True, check=False, text=True, timeout=60
        )
        assert (refused.returncode, "error[run-not-ended]" in refused.stderr) == (2, True)
        first.terminate()
        assert first.wait(60) == 143
    resumed = subprocess.run(
        [*wright, "train", "--resume", run.name], capture_output=True, check=False, text=True, timeout=100
    )

    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    starts = [event["step"] for event in events(run, "resumed")]
    assert (starts[0], len(starts), starts[1] >= 5) == (0, 2, True)
    assert json.loads((run / "ended.json").read_text())["outcome"] == "finished"
    assert len((run / "jobs").read_text().split()) == 2


def events(run, kind):
    """Events of a kind, by time."""
    lines = [
        json.loads(line) for path in run.glob("events/*.jsonl") for line in path.read_text().splitlines()
    ]
    return sorted((line for line in lines if line["event"] == kind), key=lambda line: line["time"])


def until(seen, limit_s=60):
    """Wait until `seen` returns something, and return that."""
    end = time.monotonic() + limit_s
    while not (result := seen()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return result
