"""A rank is lost between two meetings, under the agent: its own weights and moments are in memory."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def loaded(name, path):
    """A file of the agent's own tests."""
    spec = importlib.util.spec_from_file_location(name, HERE.parents[1] / "onhost" / "supervisor" / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_runs, _lost = loaded("runs_of_the_agent", "conftest.py"), loaded("ranks_that_are_lost", "test_memory_run.py")
local_run, other_run, environment = _runs.local_run, _runs.other_run, _lost.environment
pytestmark = [pytest.mark.train, pytest.mark.timeout(280)]


def test_ranks_lost_between_two_meetings_lose_nothing(local_run, other_run, environment, monkeypatch):
    """Two of them, wherever they are between two meetings: each loss and the final weights are as in a calm run."""
    monkeypatch.setenv("CLUSTERWRIGHT_OUTER", '{"every": 7, "bits": 8}')
    local_run.start(**_lost.NEVER)
    for kill in range(2):
        local_run.until_step(10 + 24 * kill)
        before = _lost.kill_rank(local_run, kill)
        step, source = local_run.until(lambda kill=kill: _lost.restored(local_run)[kill:])[0]
        assert source == "memory"
        assert step >= before - 1

    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    _lost.assert_as_calm(local_run, other_run)
