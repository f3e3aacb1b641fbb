"""How ranks find each other, when srun started them."""

import json
import os
import socket
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


HOSTILE = """
import os, pickle, sys
import torch, torch.distributed as dist
class Program:
    def __reduce__(self):
        return os.mkdir, (sys.argv[1],)
dist.init_process_group("gloo")
control = dist.new_group(backend="gloo")
data = bytearray(pickle.dumps(Program()))
size, data = torch.tensor([len(data)]), torch.frombuffer(data, dtype=torch.uint8)
if sys.argv[2] == "share":
    dist.broadcast(size, 0, group=control)
    dist.broadcast(data, 0, group=control)
else:
    dist.all_gather([torch.zeros(1, dtype=torch.int64) for _ in range(2)], size, group=control)
    dist.all_gather([torch.zeros_like(data) for _ in range(2)], data, group=control)
"""
VICTIM = """
import sys
from clusterwright.runtime import group
joined = group.join()
try:
    getattr(joined, sys.argv[2])(None)
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("call", ["share", "gather"])
def test_a_stranger_who_joined_as_rank_0_runs_no_code(tmp_path, call):
    """A program that is no rank of the run sends a pickle where the others expect a value of rank 0."""
    made = tmp_path / "made"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "GLOO_SOCKET_IFNAME": "lo"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(made), call],
            env={**os.environ, **common, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, script in enumerate((HOSTILE, VICTIM))
    ]
    said = [rank.communicate(timeout=150) for rank in ranks]

    assert not made.exists()
    assert "the peer sent a value that cannot be read" in said[1][0], said
