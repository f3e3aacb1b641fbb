"""The first save is prepared when the state has all its tensors; a run with checkpoints never restarts silently."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from clusterwright.runtime.checkpoints.checkpoint import Skipped
from clusterwright.runtime.codes import Leaving
from clusterwright.runtime.saving import refuse_step_0

pytestmark = pytest.mark.train

# No seam: that memory is made earlier is seen by nobody but the clock.
SCRIPT = """
import json, sys, torch
from clusterwright import runtime
from clusterwright.runtime.checkpoints import staging

made, prepare = [], staging.Staging.prepare
def noted(self, length):
    made.append((run.completed, length))
    return prepare(self, length)
staging.Staging.prepare = noted

run = runtime.start(folder=sys.argv[1], every="steps:3")
model = torch.nn.Linear(100, 100)
optimizer = torch.optim.AdamW(model.parameters())
run.track(model=model, optimizer=optimizer)
for _ in run.steps(total_steps=4):
    optimizer.zero_grad()
    loss = model(torch.ones(1, 100)).sum()
    loss.backward()
    optimizer.step()
    run.step(loss)
run.finish()
print(json.dumps(made))
"""


def test_the_memory_for_saves_is_made_after_the_first_step(tmp_path):
    """With the optimizer's moments, so that the saves of steps 3 and 4 need no more; and only once."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr

    made = json.loads(done.stdout)
    assert [step for step, _ in made] == [1, 3, 4]
    assert made[0][1] > 3 * 4 * 10_000
    assert len({length for _, length in made}) == 1


@pytest.mark.parametrize(
    ("in_memory", "on_disk", "raises"),
    [
        ([], [], None),
        (
            [Skipped(3, "unreachable", damaged=False)],
            [],
            None,
        ),  # lost with its host: there is nothing to wait for
        ([Skipped(3, "format", damaged=True, other_format=True)], [], "checkpoint-format"),
        ([], [Skipped(4, "format", damaged=True, other_format=True)], "checkpoint-format"),
        ([], [Skipped(4, "torn", damaged=True), Skipped(2, "torn", damaged=True)], "checkpoints-unusable"),
        ([], [Skipped(4, "torn", damaged=True), Skipped(2, "EIO", damaged=False)], OSError),
    ],
)
def test_step_0_is_refused_while_checkpoints_exist(in_memory, on_disk, raises):
    """For a cause that a restart of the ranks may cure an error, otherwise an exit that is not retried."""
    if raises is None:
        refuse_step_0(Path("/run"), in_memory, on_disk)
        return
    with pytest.raises(OSError if raises is OSError else Leaving) as caught:
        refuse_step_0(Path("/run"), in_memory, on_disk)

    assert raises is OSError or caught.value.cause == raises
