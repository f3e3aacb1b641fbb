"""docs/guides/recipes.md does what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from clusterwright.config.load import job_of
from clusterwright.config.reader import read

pytestmark = pytest.mark.train
GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "recipes.md").read_text()


def blocks(language):
    """The fenced blocks of that language."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.DOTALL)


def test_its_commands_train(tmp_path):
    """As they stand there; the digits are learned, the weights are saved."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLUSTERWRIGHT_", "SLURM_"))}
    path = f"{Path(sys.executable).parent}:{kept['PATH']}"
    for line in "".join(blocks("console")).splitlines():
        done = subprocess.run(
            ["bash", "-c", line.removeprefix("$ ")], cwd=tmp_path, capture_output=True, text=True, timeout=200,
            env={**kept, "OMP_NUM_THREADS": "1", "PATH": path}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    events = (tmp_path / "digits" / "events" / "rank-00000.jsonl").read_text()
    assert float(re.findall(r'"top1", "value": ([\d.]+)', events)[-1]) > 0.9
    assert (tmp_path / "words" / "model" / "model.safetensors").exists()


@pytest.mark.parametrize("text", blocks("yaml"), ids=lambda text: text.splitlines()[0])
def test_its_job_files_are_good(text):
    """Nothing is said against them."""
    assert job_of(read(text.encode(), "job.yaml")).recipe
