"""A run that waits for others looks whether they are over, wherever they went on."""

import json

import pytest

from clusterwright.onhost.supervisor import dependencies


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A run that waits, another one, and an sbatch that tells what it was asked."""
    (tmp_path / "bin").mkdir()
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked; echo "12;lab"\n')
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    (tmp_path / "other" / "chain").mkdir(parents=True)
    (tmp_path / "other" / "jobs").write_text("7\n")
    return tmp_path


def over(runs, outcome):
    """The other run has ended so."""
    (runs / "other" / "ended.json").write_text(json.dumps({"outcome": outcome}))


def look(runs):
    """What the script does."""
    return dependencies.main([str(runs / "mine"), str(runs / "other")])


def test_a_run_that_has_finished_is_waited_for_no_longer(runs):
    """Nothing is submitted."""
    over(runs, "finished")

    assert look(runs) == dependencies.OVER
    assert not (runs / "asked").exists()


def test_a_run_that_went_on_is_waited_for_once_more(runs):
    """By its newest job; the new job of this run is noted."""
    for number, job in ((1, "7"), (2, "9"), (10, "11")):
        (runs / "other" / "chain" / str(number)).write_text(job)

    assert look(runs) == dependencies.WAITS
    assert (runs / "asked").read_text() == f"--parsable --dependency=afterany:11 {runs}/mine/job.sh\n"
    assert (runs / "mine" / "jobs").read_text() == "12\n"


@pytest.mark.parametrize("outcome", ["failed", "cancelled", "no-progress"])
def test_a_run_that_ended_otherwise_ends_this_one(runs, outcome):
    """With its name and how it ended."""
    over(runs, outcome)
    code = look(runs)
    why = json.loads((runs / "mine" / "ended.json").read_text())["reason"]

    assert (code, why) == (dependencies.FAILED, f"other did not finish: {outcome}")
