"""A real training that loses a host, goes on with the other, and takes the lost one in again when it is back."""

import os
import signal
from pathlib import Path

import pytest

pytestmark = [pytest.mark.train, pytest.mark.timeout(280)]
STORMY = Path(__file__).parents[2] / "launch" / "recovery" / "stormy.py"
NEVER = {"every": "100000 steps", "script": STORMY, "ranks": 1, "memory": "auto", "policy": "shrink"}


def kill_agent(run, host):
    """The host's ranks die with it."""
    mark = f"CLUSTERWRIGHT_HOST={host}\0".encode()
    for pid in run.processes("run_module.py clusterwright.onhost.supervisor.node"):
        if mark in Path(f"/proc/{pid}/environ").read_bytes():
            os.kill(pid, signal.SIGKILL)


def test_a_training_that_grows_loses_no_step(local_run, monkeypatch):
    """Copies are seldom, and nothing is on disk; the ranks are asked to leave, and the next go on where they left."""
    monkeypatch.setenv("STORMY_STEPS", "1000000")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    local_run.start(**NEVER)
    local_run.until(lambda: local_run.events("copy"))
    kill_agent(local_run, local_run.events("generation_start")[0]["hosts"][1])
    grown = local_run.until(lambda: local_run.events("generation_start", generation=3), 150)[0]
    first = local_run.until(lambda: local_run.events("step", generation=3))[0]
    (stopped,) = local_run.events("stopped")
    last = local_run.events("step", generation=2)[-1]
    (local_run.folder / "cancelled").touch()

    assert local_run.process.wait(timeout=150) == 143, local_run.said()
    assert local_run.events("generation_end", generation=2)[0]["reason"] == "grown"
    assert (len(grown["hosts"]), grown["source"]) == (2, "memory")
    assert stopped["reason"] == "regroup"
    assert first["step"] - 1 == grown["step"] == stopped["step"] == last["step"]


def test_a_script_that_cannot_be_asked_grows_too(local_run):
    """It shows no steps, so its ranks are ended, and go on from their newest checkpoint."""
    local_run.start(policy="shrink")
    local_run.until_step(7)
    kill_agent(local_run, local_run.events("generation_start")[0]["hosts"][1])
    grown = local_run.until(lambda: local_run.events("generation_start", generation=3), 150)[0]
    resumed = local_run.until(lambda: local_run.events("resumed", generation=3))[0]

    assert local_run.finish() == 0, local_run.said()
    assert local_run.events("generation_end", generation=2)[0]["reason"] == "grown"
    assert len(grown["hosts"]) == 2
    assert resumed["step"] >= 5
    assert local_run.events("stopped") == []
