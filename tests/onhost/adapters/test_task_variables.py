"""Tasks of srun in a batch program get the variables of torch's process groups; ranks of mpirun do not."""

import os
import subprocess

import pytest

from clusterwright.onhost.adapters.task_variables import variables

TASK = {
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_NTASKS": "4",
    "SLURM_NNODES": "2",
    "SLURM_NODEID": "1",
    "SLURM_JOB_ID": "7",
    "CLUSTERWRIGHT_FIRST": "10.0.0.1:20000",
}


def printed(folder, **more):
    """What the file prints for a task, as Slurm reads it."""
    path = variables(["srun", "python", "train.py"], str(folder), str(folder))["SLURM_TASK_PROLOG"]
    env = {"PATH": os.environ["PATH"], **TASK, **more}
    out = subprocess.run([path], env=env, capture_output=True, text=True, check=True).stdout
    return dict(line.removeprefix("export ").split("=", 1) for line in out.splitlines())


def test_a_task_gets_what_torchrun_would_set(tmp_path):
    """And torchrun as a task on each host what its options would be."""
    found = printed(tmp_path)

    assert {name: found[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK")} == {
        "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "NODE_RANK": "1",
    }  # fmt: skip
    assert (found["MASTER_ADDR"], found["MASTER_PORT"]) == ("10.0.0.1", "20000")
    assert (found["PET_NODE_RANK"], found["PET_NNODES"]) == ("1", "2")
    assert (found["PET_RDZV_ENDPOINT"], found["PET_RDZV_CONF"]) == ("10.0.0.1:20000", "is_host=0")


def test_what_the_program_has_set_stays(tmp_path):
    """Also an empty value."""
    found = printed(tmp_path, MASTER_ADDR="other", RANK="")

    assert not {"MASTER_ADDR", "RANK"} & found.keys()
    assert found["MASTER_PORT"] == "20000"


@pytest.mark.parametrize(
    "command", [["mpirun", "-np", "4", "./a.out"], ["bash", "-c", "mpiexec ./a.out"], ["bash", "run.sh"]]
)
def test_a_program_with_mpirun_has_none(tmp_path, command):
    """Its ranks would inherit the variables of its daemons, which are tasks of srun."""
    (tmp_path / "run.sh").write_text("mpirun ./a.out\n")

    assert variables(command, str(tmp_path), str(tmp_path)) == {}
    assert not (tmp_path / "task_prolog.sh").exists()
