"""A run whose process group does not form is a failure with a cause, under the agent and under torchrun."""

import pytest

pytestmark = [pytest.mark.train, pytest.mark.timeout(200)]
SCRIPT = """
import os, time
from datetime import timedelta
import torch.distributed as dist
if os.environ["RANK"] == "1":
    time.sleep(600)
dist.init_process_group("gloo", timeout=timedelta(seconds=6))
"""


@pytest.mark.parametrize("launcher", ["agent", "torchrun"])
def test_a_rank_that_never_comes_fails_the_run_by_name(local_run, launcher):
    """Not `running` until torch's half hour is over."""
    script = local_run.folder.parent / "train.py"
    script.write_text(SCRIPT)
    local_run.start(script=script, nodes=1, restarts=0, launcher=launcher)

    assert local_run.process.wait(timeout=100) == 1, local_run.said()
    assert local_run.outcome()["outcome"] == "failed"
    files = [path for path in local_run.folder.rglob("logs/**/*") if path.is_file()]
    logs = "".join(path.read_text(errors="replace") for path in files)
    assert "1 of 2 ranks came; missing: rank 1" in logs
