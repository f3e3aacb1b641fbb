"""`wright dev` on a cluster learned from Slurm: the session's job, and how its user reaches it."""

import pytest
from tests.launch.unmanaged.conftest import wright

from clusterwright.config.cluster import Unmanaged
from clusterwright.launch.dev.asking import Session
from clusterwright.launch.dev.reach import reach


def test_the_job_uses_the_library_beside_the_runs(user):
    """Nothing is installed on the nodes; the partition and its limits are Slurm's."""
    result = wright("dev", "--cluster", "here", "--gpus", "0", "--dry-run")

    assert result.returncode == 0, result.stderr
    assert "#SBATCH --partition=debug\n" in result.stdout
    assert "#SBATCH --time=0-01:00:00\n" in result.stdout
    assert f"export PYTHONPATH={user.home}/wright/runs/.library/" in result.stdout


def test_gpus_are_those_of_the_partition(user):
    """A partition without GPUs refuses the session; one with them starts it."""
    assert "dev-gpus" in wright("dev", "--cluster", "here", "--dry-run").stderr
    result = wright("dev", "--cluster", "here", "--partition", "gpu", "--gpus", "2", "--dry-run")
    assert "#SBATCH --gres=gpu:2\n" in result.stdout, result.stderr
    assert user.home.exists()


@pytest.mark.parametrize(
    ("access", "hop", "shell"),
    [
        (Unmanaged(), "bob@login", ("sh", "-c")),
        (Unmanaged(login="login.example.org"), "login.example.org", ("ssh", "-t", "login.example.org")),
        (Unmanaged(login="login.org", user="bob7"), "bob7@login.org", ("ssh", "-t", "-l", "bob7", "login.org")),
    ],
)  # fmt: skip
def test_a_user_reaches_the_node_through_the_login_host(tiny, access, hop, shell):
    """As the session's user, never as root; a shell is a step of the job, which needs no login on the node."""
    cluster = tiny.as_unmanaged(access)
    tunnel = reach(
        Session("7", "jupyter", "bob", "n1", "", 60, joined=False, port=8), cluster, local_port=5
    ).tunnel

    assert tunnel[tunnel.index("-J") + 1] == hop
    assert tunnel[-3:] == ("-l", "bob", "n1")
    command = reach(Session("7", "shell", "bob", "n1", "", 60, joined=False), cluster, local_port=0).shell
    assert command[:-1] == shell
    assert command[-1].startswith("srun --jobid=7 --overlap --pty ")
