"""`wright jobs`."""

import json

import pytest

from clusterwright.cli import _connection
from clusterwright.cli.jobs import jobs
from clusterwright.edge.fakes import FakeRemote
from clusterwright.errors import WrightError

QUEUED = "9|alice|RUNNING|2:58|30:00|3|gpu-node[1,3-4]|None|gpt-20261121-131500\n"
FOLDER = {"run": "gpt-20261121-131500", "jobs": ["9"], "step": 30, "checkpoint": 25, "ended": {}}


@pytest.fixture
def control(monkeypatch):
    """A control host with this queue and these runs; only ssh itself is replaced."""
    said = {"text": QUEUED + "\n" + json.dumps([FOLDER])}
    remote = FakeRemote(lambda *_: said["text"])
    # no seam: the command makes its own way from the cluster file, and this machine has no such hosts
    monkeypatch.setattr(_connection, "connection_to", lambda _: remote)
    monkeypatch.setattr("clusterwright.launch.listing.random_mark", str)  # no mark in this queue
    monkeypatch.setenv("CLUSTERWRIGHT_CLUSTER", "examples/lab/cluster.yaml")
    return said, remote


def test_jobs_are_a_table(control, capsys):
    """Slurm's state, the run's step, where it runs; with one ssh."""
    assert jobs() == 0
    out = capsys.readouterr().out

    assert [word in out for word in ("RUNNING", "gpt-20261121-131500", "30", "25", "gpu-node[1,3-4]")] == [
        True
    ] * 5
    assert len(control[1].calls) == 1


def test_jobs_are_one_json_document(control, capsys):
    """For programs."""
    jobs(json=True)

    assert json.loads(capsys.readouterr().out)[0]["job_id"] == "9"


def test_no_jobs_say_what_to_do_next(control, capsys):
    """On stderr; stdout stays empty."""
    control[0]["text"] = "\n[]"

    assert jobs() == 0
    assert "wright train" in capsys.readouterr().err


def test_an_unreachable_control_host_is_an_error(control, monkeypatch):
    """Named, with the command to try."""
    monkeypatch.setattr(
        _connection, "connection_to", lambda _: FakeRemote(lambda *_: "", down=frozenset({"control"}))
    )

    with pytest.raises(WrightError, match="ssh control"):
        jobs()
