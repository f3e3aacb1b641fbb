"""What `wright tune` says and writes, of searches that came out as a test says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.check.tune.knobs import DEFAULT, Knob, KnobSettings
from clusterwright.check.tune.search import FINAL, Trial, TuningOutcome
from clusterwright.check.tune.trials import Budget, Tuned
from clusterwright.check.tune.written import OF_JOB
from clusterwright.cli.tune import Common, concluded

LAB = Path(__file__).parents[2] / "examples/lab/cluster.yaml"
JOB = "name: small  # ours\nrecipe: gpt\nnodes: 2\ntime: 30m\n"
BEST = KnobSettings((("gradients.bucket", "4MiB"),))
KNOBS = (Knob("gradients.bucket", ("4MiB",), "small ones leave earlier"),)
WRIGHT = (sys.executable, "-c", "from clusterwright.cli import main; main()")


@pytest.fixture
def job(tmp_path):
    """A job file."""
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


def tuned(*, won):
    """A search in which the bucket gave half as many steps again, for certain or not."""
    rows = [
        (batch, each, 2.0 * (1 if each.is_default else 1.5))
        for batch in range(FINAL)
        for each in (DEFAULT, BEST)
    ]
    trials = tuple(Trial(*row) for row in rows)
    outcome = TuningOutcome(trials, BEST, won=won, default=(2.0,) * FINAL, tuned=(3.0,) * FINAL)
    return Tuned("job `small`", "steps a second", "1/s", KNOBS, Budget(20, 7), outcome)


def test_a_winner_is_shown_as_a_difference_and_written_only_when_asked(job, capsys):
    """Beside the step before and after with their spread, the method and the budget."""
    concluded(job, tuned(won=True), Common(), OF_JOB)
    shown = capsys.readouterr()
    kept = job.read_text()
    concluded(job, tuned(won=True), Common(write=True), OF_JOB)

    assert kept == JOB
    assert '+gradients:\n+  bucket: "4MiB"\n' in shown.out
    assert (
        "current settings: 500 ms per step (median of 7; 500 ms per step to 500 ms per step)"
        in shown.err.replace("\n", " ")
    )
    assert "1.50x steps a second" in shown.err
    assert "15 of 20 trials, order by seed 7" in shown.err
    assert "--write" in shown.err
    assert job.read_text().startswith(JOB)
    assert 'bucket: "4MiB"' in job.read_text()


def test_what_is_within_the_spread_is_not_written(job, capsys):
    """Whatever was asked for."""
    concluded(job, tuned(won=False), Common(write=True), OF_JOB)
    shown = capsys.readouterr()

    assert job.read_text() == JOB
    assert "nothing to change" in shown.err
    assert "---" not in shown.out


def test_json_has_every_trial_the_winner_and_the_difference(job, capsys):
    """For programs."""
    concluded(job, tuned(won=True), Common(json=True), OF_JOB)
    found = json.loads(capsys.readouterr().out)

    assert found["winner"] == {"gradients.bucket": "4MiB"}
    assert found["gain"] == 1.5
    assert len(found["outcome"]["trials"]) == 2 * FINAL
    assert found["diff"].startswith("--- ")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["network", "--cluster", str(LAB), "--budget", "16"], "error[tune-budget]: 16 trials are too few"),
        (["training", "job.yaml", "--cluster", "none.yaml"], "error[file-unreadable]"),
    ],
)
def test_what_cannot_be_is_refused_before_a_cluster_is_asked(job, asked, said):
    """Exit code 2."""
    done = subprocess.run(
        [*WRIGHT, "tune", *asked], cwd=job.parent, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 2
    assert said in done.stderr


def test_no_steps_measure_nothing(job):
    """Refused before any host is asked."""
    done = subprocess.run(
        [*WRIGHT, "tune", "training", job, "--steps", "0"], capture_output=True, text=True, check=False
    )

    assert done.returncode != 0
    assert "--steps" in done.stdout + done.stderr
    assert "at least 1" in done.stdout + done.stderr
