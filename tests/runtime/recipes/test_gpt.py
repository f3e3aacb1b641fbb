"""The recipe learns and resumes, alike on any number of ranks."""

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.recipes import gpt, loop, options

pytestmark = pytest.mark.train

SMALL = ["--layers", "2", "--width", "64", "--batch", "12", "--context", "32", "--text-bytes", "300000"]


def train(folder, *arguments, ranks=1, every="steps:10"):
    """The recipe as a job starts it."""
    launcher = (
        ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)] if ranks > 1 else []
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLUSTERWRIGHT_", "SLURM_"))}
    environ = {
        **kept,
        "OMP_NUM_THREADS": "1",
        "CLUSTERWRIGHT_RUN": str(folder),
        "CLUSTERWRIGHT_CHECKPOINT_EVERY": every,
    }
    command = [sys.executable, *launcher, "-m", "clusterwright.runtime.recipes.gpt", *SMALL, *arguments]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = (folder / "events" / "rank-00000.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def losses(events):
    return {event["step"]: event["loss"] for event in events if event["event"] == "step"}


def test_it_learns_and_any_number_of_ranks_takes_the_same_steps(tmp_path):
    """One rank and three, within the warm-up: losses differ by rounding alone (dropout is off)."""
    alone = train(tmp_path / "alone", "--steps", "40", "--dropout", "0", "--evaluate-every", "20")
    three = train(tmp_path / "three", "--steps", "12", "--dropout", "0", ranks=3)

    learned = losses(alone)
    assert learned[1] == pytest.approx(5.55, abs=0.1)  # the logarithm of 256, as of one who knows nothing
    assert learned[40] < 3.6
    measured = [event for event in alone if event["event"] == "measure"]
    assert [(event["name"], event["step"]) for event in measured] == [("validation", 20), ("validation", 40)]
    assert measured[1]["value"] < measured[0]["value"] < 5
    assert losses(three) == pytest.approx({step: learned[step] for step in range(1, 13)}, rel=1e-4)


def test_it_resumes_bit_for_bit(tmp_path):
    """Stopped at step 7 by having no more to do, then asked for more: as if it had never stopped."""
    whole = train(tmp_path / "whole", "--steps", "12", "--warmup", "50")
    train(tmp_path / "parts", "--steps", "7", "--warmup", "50")
    parts = train(tmp_path / "parts", "--steps", "12", "--warmup", "50")

    assert losses(parts) == losses(whole)


def test_more_ranks_than_samples_are_refused(recipe):
    """A rank without one would have no gradients for the others to wait for."""
    refused = recipe("gpt", *SMALL, "--batch", 1, ranks=2)

    assert refused.codes == [1, 1]
    assert "--batch 1 leaves some of 2 replicas without a sample" in refused.log


def test_the_learning_rate_rises_and_falls():
    """From the first step on, to a tenth at the last."""
    given = gpt.Options(steps=100, warmup=10, learning_rate=1.0)
    rates = [loop.learning_rate(step, given) for step in range(100)]

    assert rates[:10] == pytest.approx([0.1 * step for step in range(1, 11)])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(0.1, abs=0.01)


def test_options_come_with_either_dash():
    """A job file says `evaluate_every: 5`; a person types --evaluate-every 5."""
    typed = [options.parse(gpt.Options, [option, "5"]) for option in ("--evaluate_every", "--evaluate-every")]

    assert typed == [gpt.Options(evaluate_every=5)] * 2
