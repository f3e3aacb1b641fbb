"""Doubts about a job's script: launch lines in shell scripts, and literals that replace the job's own variables."""

import pytest

from clusterwright.config.job import Job
from clusterwright.launch.lines.prepare import prepare

SHELL = """#!/bin/bash
#SBATCH --nodes=4
# torchrun --node_rank=0
if true; then
  torchrun --nnodes=4 \\
    --node_rank=0 train.py
fi
mpirun -np 4 torchrun --node_rank=1 --nproc_per_node=1 train.py
torchrun --nnodes=$SLURM_NNODES --node_rank=$SLURM_NODEID train.py
"""


@pytest.fixture
def doubted(tmp_path, cluster):
    """`doubted(name, text)`: the warnings about this script on two nodes, or as many as said."""

    def call(name, text, nodes=2):
        (tmp_path / name).write_text(text)
        start = (
            {"program": ["bash", name], "launcher": "host"} if name.endswith(".sh") else {"command": [name]}
        )
        values = {
            "name": "x",
            "time": "10m",
            "nodes": nodes,
            "gpus_per_node": 2,
            "code": {"folder": "."},
            **start,
        }
        return [
            str(note) for note in prepare(Job.model_validate(values, strict=False), cluster, tmp_path).notes
        ]

    return call


def test_launch_lines_of_a_shell_script_are_named_with_their_lines(doubted):
    """The script is not changed: it may have branches."""
    sbatch, torchrun, mpirun = doubted("run.sh", SHELL)

    assert "its #SBATCH lines are not read; the job has 2 nodes with 2 GPUs each" in sbatch
    assert "run.sh:5: --nnodes=4 --node_rank=0 contradict the allocation (2 nodes, 2 ranks each)" in torchrun
    assert "run.sh:8: --node_rank=1 contradict the allocation of 2 nodes" in mpirun


def test_a_literal_address_or_rank_of_a_script_is_named(doubted):
    """On several nodes; on one node `localhost` is right."""
    text = "import os\nos.environ['MASTER_ADDR'] = 'localhost'\nos.environ['RANK'] = '0'\n"
    found = doubted(
        "train.py", text + "os.environ['MASTER_PORT'] = '12355'\nos.environ.setdefault('RANK', '0')\n"
    )

    assert [
        "train.py:2: sets MASTER_ADDR to localhost" in found[0],
        "train.py:3: sets RANK to 0" in found[1],
    ] == [
        True,
        True,
    ]
    assert len(found) == 2
    assert doubted("train.py", text, nodes=1) == []
