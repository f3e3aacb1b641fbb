import json
import time
from pathlib import Path

import pytest

from clusterwright.onhost.lib.run_outcome import EXIT_CODES
from clusterwright.onhost.runs import run_folders, run_jobs


@pytest.mark.parametrize(
    "what",
    ["8", "9", "last", "new-20261121-100000", "/shared/runs/new-20261121-100000/slurm-9.out", "slurm-9.out"],
)
def test_a_run_is_found_by_whatever_a_person_has_at_hand(what, runs):
    """Name, job id of any job of the chain, `last`, or an output file."""
    assert Path(run_folders.find(str(runs), what)).name == "new-20261121-100000"


def test_an_unknown_run_has_a_code_of_its_own(runs, done_far):
    """The command adds the closest name."""
    code, _, err = done_far("logs", runs, "12345", "once")

    assert code == run_jobs.NO_RUN
    assert f"no run `12345` in {runs}" in err


def test_a_list_says_how_far_each_run_is(runs, done_far):
    """From names of folders and the end of the events."""
    _, out, _ = done_far("list", runs)
    new, old = json.loads(out)

    assert (new["step"], new["checkpoint"], new["generation"], new["jobs"]) == (30, 25, 1, ["8", "9"])
    assert new["state"] not in EXIT_CODES
    assert old["state"] == "no-progress"


def test_no_runs_are_an_empty_list(tmp_path, done_far):
    """A cluster that nobody has trained on yet."""
    assert done_far("list", tmp_path / "runs")[1] == "[]"


def test_cancel_marks_the_run_even_without_slurm(runs, start_far):
    """The marks alone end it: the supervisor reads them."""
    process = start_far("cancel", runs, "9")
    run = runs / "new-20261121-100000"
    end = time.monotonic() + 150
    while not (run / "stop").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.communicate()

    assert (run / "cancelled").exists()
    assert (run / "stop").exists()
