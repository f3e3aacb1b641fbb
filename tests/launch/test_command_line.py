"""What is typed behind `wright train --`, as a job file would say it."""

import pytest

from clusterwright.launch.command_line import fields


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("python train.py --lr 1", {"name": "train", "command": ["train.py", "--lr", "1"]}),
        (
            "/opt/x/bin/python3.11 -u train.py",
            {"name": "train", "command": ["train.py"], "environment": {"python": "/opt/x/bin/python3.11"}},
        ),
        ("python -m my.model --lr 1", {"name": "model", "command": ["-m", "my.model", "--lr", "1"]}),
        ("python -O train.py", {"name": "train", "program": ["python", "-O", "train.py"]}),
        (
            "python -m torch.distributed.launch --nproc_per_node=8 train.py",
            {
                "name": "train", "launcher": "host",
                "program": ["python", "-m", "torch.distributed.launch", "--nproc_per_node=8", "train.py"],
            },
        ),
        (
            "torchrun --nnodes=4 train.py",
            {
                "name": "train", "launcher": "host", "framework": "pytorch",
                "program": ["torchrun", "--nnodes=4", "train.py"],
            },
        ),
        (
            "deepspeed train.py",
            {"name": "train", "launcher": "host", "framework": "deepspeed", "program": ["deepspeed", "train.py"]},
        ),
        (
            "srun --mpi=pmix python train.py",
            {"name": "train", "launcher": "batch", "program": ["srun", "--mpi=pmix", "python", "train.py"]},
        ),
        ("bash run.sh x", {"name": "run", "launcher": "host", "program": ["bash", "run.sh", "x"]}),
        ("./9body 3", {"name": "run-9body", "framework": "mpi", "program": ["./9body", "3"]}),
    ],
)  # fmt: skip
def test_a_line_is_a_job(line, wanted):
    """Who starts it is told by its first words."""
    assert fields(line.split()) == wanted


def test_a_line_in_quotes_is_for_a_shell_on_each_host():
    """There the variables have their values."""
    line = "NCCL_DEBUG=INFO torchrun --node_rank=$SLURM_NODEID train.py"

    assert fields([line]) == {
        "name": "train", "framework": "pytorch", "launcher": "host", "program": ["bash", "-c", line]
    }  # fmt: skip


def test_a_line_in_quotes_that_has_its_own_tasks_is_for_one_shell():
    """On the first host."""
    assert fields(["cd x && mpirun -np 8 ./a.out"])["launcher"] == "batch"


def test_of_the_shell_only_what_tunes_libraries_is_handed_on():
    """A secret never is."""
    shell = {"NCCL_DEBUG": "INFO", "WANDB_API_KEY": "x", "PATH": "/bin", "OMP_NUM_THREADS": "4"}

    assert fields(["python", "a.py"], shell)["environment"] == {
        "variables": {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "4"}
    }  # fmt: skip
