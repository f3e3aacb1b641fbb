"""A tracker beside a run: what it says, what it never says, and what it leaves alone."""

from pathlib import Path

import pytest

from clusterwright.onhost.trackers.follower import NAMES, without_secrets

SOURCE = Path(__file__).parents[3] / "src"


def test_no_secret_is_said():
    """Values of variables with such names, and what stands before the @ of an address."""
    environ = {
        "WANDB_API_KEY": "abcdef0123",
        "A_PASSWORD": "hunter2hunter2",
        "PLAIN": "visible",
        "B_KEY": "ab",
    }
    said = without_secrets(
        "403 for abcdef0123 and hunter2hunter2: visible at http://me:pw@host/x ab", environ
    )

    assert said == "403 for <WANDB_API_KEY> and <A_PASSWORD>: visible at http://host/x ab"


@pytest.mark.parametrize("name", ["mlflow", "wandb", "swanlab"])
def test_a_missing_package_says_what_to_install(told, name):
    """And nothing else happens to the run."""
    told.steps(1, 2)
    told.end()
    (told.folder.parent / f"{name}.py").write_text(f"raise ImportError('no module named {name}')\n")
    code, said = told.track(name, PYTHONPATH=f"{told.folder.parent}:{SOURCE}")

    assert code == 1
    assert f"pip install {name}" in said
    assert "Traceback" not in said


def test_a_tracker_that_nobody_knows_is_named(told):
    """With those that there are."""
    code, said = told.track("neptune")

    assert code == 2
    assert all(name in said for name in NAMES)


def test_a_server_that_does_not_answer_is_no_reason_to_fail_the_run(told):
    """It is said, without the password of its address, and given up after the end of the run."""
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed (pip install mlflow-skinny)")
    told.steps(1, 2)
    told.end()
    code, said = told.track(
        "mlflow", MLFLOW_TRACKING_URI="http://me:s3cret-pw@127.0.0.1:9", MLFLOW_HTTP_REQUEST_MAX_RETRIES="0"
    )

    assert code == 1
    assert "mlflow: " in said
    assert "s3cret-pw" not in said
    assert "not all rows were sent by the end" in said
