"""docs/guides/follow.md does what it says, on this machine."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "follow.md").read_text()

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]


def run(command, place):
    """As a reader would type it."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=place, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def test_every_command_of_the_guide_runs_and_shows_what_is_promised(tmp_path):
    """In the order of the page: train, logs, status, curves, and what TensorBoard would read."""
    (tmp_path / "job.yaml").write_text(re.search(r"```yaml job.yaml\n(.*?)```", PAGE, re.DOTALL)[1])
    commands = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)
    out, said = {}, {}
    for command in commands:
        out[command], said[command] = run(command, tmp_path)
    (folder,) = (tmp_path / "runs").iterdir()

    assert "curves: " in said["wright train job.yaml --local"]
    assert "step 60/60, loss" in said["wright logs -f runs/tiny-*"]
    assert "data: steps waited" in out["wright status runs/tiny-*"]
    assert 'clusterwright_run_data_wait_ratio{run="' in out["wright status runs/tiny-* --metrics"]
    assert "<svg" in (tmp_path / "curves.html").read_text()
    assert "<svg" in (folder / "curves.html").read_text()
    assert b"train/loss" in b"".join(path.read_bytes() for path in (folder / "tensorboard").iterdir())
