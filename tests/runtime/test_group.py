"""How ranks find each other, when srun started them."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.train

SCRIPT = """
import json, sys
from clusterwright.runtime import group
joined = group.join()
found = joined.rank, joined.local_rank, joined.world_size, joined.gather(joined.rank), joined.share(joined.rank)
sys.stdout.write(json.dumps(found))
joined.destroy()
print(sorted(name for name in sys.modules if name.startswith("torch._dynamo")), file=sys.stderr)
"""


def test_the_tasks_of_a_step_become_one_group():
    """With srun's variables alone; and none of torch's slow modules is imported for it."""
    step = {
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_STEP_ID": "0",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    tasks = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, **step, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [task.communicate(timeout=150) for task in tasks]

    assert [json.loads(out) for out, _ in said] == [[0, 0, 2, [0, 1], 0], [1, 1, 2, [0, 1], 0]]
    assert [error.strip() for _, error in said] == ["[]", "[]"]
