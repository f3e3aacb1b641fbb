"""docs/guides/training-script.md does what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.runtime.checkpoints import retention

pytestmark = pytest.mark.train
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "training-script.md"


LOOP = "for x, y in run.steps"
START = "run = runtime.start(seed=1)  # joins the other ranks, chooses the device, seeds everything"


def snippets():
    """The guide's Python: a whole script, then one example for each service, then how to open a checkpoint."""
    whole, *examples, look = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    return whole, examples, look


def in_whole(whole, example):
    """The script with an example's loop, and its `start` if it has one."""
    before = whole[: whole.index(LOOP)]
    begins = re.search(r"^run = runtime\.start.*$", example, re.MULTILINE)
    if begins:
        example = example.replace(begins[0], "")
        assert START in before
        before = before.replace(START, begins[0])
    return before + example


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


def test_the_guides_script_runs_alone_and_under_torchrun_and_its_checkpoint_opens(tmp_path):
    """One process that keeps nothing; then two ranks that do; then the last snippet."""
    whole, _, last = snippets()
    train, look = tmp_path / "train.py", tmp_path / "look.py"
    train.write_text(whole)
    look.write_text(last)
    alone = python(train, cwd=tmp_path)
    assert "checkpoints are off" in alone.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["look.py", "train.py"]

    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    python(*launcher, train, cwd=tmp_path, CLUSTERWRIGHT_RUN="run")
    assert retention.check(tmp_path / "run" / "checkpoints" / "step-00000040").world_size == 2
    assert "[64, 8]" in python(look, cwd=tmp_path).stdout


@pytest.mark.parametrize("number", range(len(snippets()[1])))
def test_each_example_runs_in_the_guides_script(train, number, tmp_path):
    """Two ranks, to the last step, with a checkpoint."""
    whole, examples, _ = snippets()
    (tmp_path / "example.py").write_text(in_whole(whole, examples[number]))

    trained = train(script=tmp_path / "example", CLUSTERWRIGHT_CHECKPOINT_EVERY="steps:20", seconds=100)
    assert trained.codes == [0, 0], trained.log
    assert '"step": 40' in (trained.folder / "finished.json").read_text()
    assert retention.check(trained.folder / "checkpoints" / "step-00000040").world_size == 2
