"""`wright logs`, `wright cancel` and `wright jobs` on what is on this machine."""

import json
from pathlib import Path

import pytest

from clusterwright.cli.logs import logs
from clusterwright.errors import WrightError


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A local run that has ended, and no cluster file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    folder = tmp_path / "runs" / "count-20261121-120000"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text('{"local": true}')
    (folder / "job.out").write_text("begun\n")
    (folder / "ended.json").write_text(json.dumps({"outcome": "failed", "code": 1, "reason": "x"}))
    return folder


def test_logs_of_a_folder_here_need_no_cluster(run, capfd):
    """The outcome is the exit code."""
    assert logs(str(run), follow=True) == 1
    assert capfd.readouterr().out == "[job] begun\n"


def test_logs_of_a_job_need_a_cluster(run):
    """The error names where its file was looked for."""
    with pytest.raises(WrightError, match=r"no run `123` in .*\n.*pass --cluster"):
        logs("123", cluster=None)


def test_logs_of_a_lost_cluster_file_say_which(run):
    """A named file is read, not looked for."""
    with pytest.raises((WrightError, OSError), match=r"nowhere\.yaml"):
        logs("123", cluster=Path("nowhere.yaml"))
