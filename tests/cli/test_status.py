"""`wright status` on what is on this machine."""

import json

import pytest

from clusterwright.cli.status import status
from clusterwright.errors import WrightError


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A local run that has ended, and no cluster file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    folder = tmp_path / "runs" / "count-20261121-120000"
    (folder / "events").mkdir(parents=True)
    (folder / "job.json").write_text('{"local": true}')
    (folder / "ended.json").write_text(json.dumps({"outcome": "failed", "code": 1, "reason": "x"}))
    start = {"time": 1, "event": "job_start", "job_id": "7", "hosts": ["a"], "ranks": 2}
    end = {"time": 11, "event": "job_end", "outcome": "failed"}
    (folder / "events" / "a.jsonl").write_text(f"{json.dumps(start)}\n{json.dumps(end)}\n")
    return folder


def test_a_folder_here_needs_no_cluster(run, capfd):
    """State, and where the time went."""
    assert status(str(run)) == 0
    out = capfd.readouterr().out

    assert "state       failed: x\n" in out
    assert "goodput: 2 GPUs for 10.0 s" in out


def test_programs_get_one_document(run, capfd):
    """Seconds and ratios under stable names."""
    assert status(str(run), json=True) == 0

    assert json.loads(capfd.readouterr().out)["ledger"]["gpu_s"]["launch"] == 20


def test_prometheus_gets_its_text(run, capfd):
    """For a textfile collector."""
    assert status(str(run), metrics=True) == 0

    assert 'bin="launch"} 20\n' in capfd.readouterr().out


def test_a_job_needs_a_cluster(run):
    """The error names where its file was looked for."""
    with pytest.raises(WrightError, match=r"no run `123` in .*\n.*pass --cluster"):
        status("123")
