"""docs/guides/training-script.md does what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.train.runtime import keep

pytestmark = pytest.mark.train
GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "training-script.md"


@pytest.fixture
def snippets(tmp_path):
    """The guide's Python, as files."""
    paths = []
    for number, text in enumerate(re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)):
        paths.append(tmp_path / f"snippet{number}.py")
        paths[-1].write_text(text)
    return paths


def python(*arguments, cwd, **environment):
    """Run Python as a user would, without any launcher's variables but these."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLUSTERWRIGHT_", "SLURM_"))}
    environ = {**kept, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", **environment}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_guides_script_runs_alone_and_under_torchrun_and_its_checkpoint_opens(snippets, tmp_path):
    """One process that keeps nothing; then two ranks that do; then the second snippet."""
    train, look = snippets
    alone = python(train, cwd=tmp_path)
    assert "nothing is saved" in alone.stderr
    assert (
        sorted(path.name for path in tmp_path.iterdir()) == [look.name, train.name]
        or not (tmp_path / "run").exists()
    )

    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    python(*launcher, train, cwd=tmp_path, CLUSTERWRIGHT_RUN="run")
    assert keep.check(tmp_path / "run" / "checkpoints" / "step-00000040").world_size == 2
    assert "[64, 8]" in python(look, cwd=tmp_path).stdout
