"""Launch lines with a literal rank, address and size, on two hosts of a real Slurm: each rank has its own number."""

import re
from pathlib import Path

import pytest

from clusterwright.cli.train import Typed
from clusterwright.errors import WrightError
from clusterwright.launch.events import RemoteReader
from clusterwright.launch.events import wait as wait_for
from clusterwright.launch.resolve import resolve_job
from clusterwright.launch.submission import submit

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(900)]

SUM = """import argparse, os
import torch
import torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", default=os.environ.get("LOCAL_RANK"))
local = parser.parse_args().local_rank
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank())])
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()} local {local} sum {total.item():g}", flush=True)
dist.destroy_process_group()
"""
WRONG = ("--node_rank=0", "--master_addr=192.168.1.10")
RUN, LAUNCH = ("python", "-m", "torch.distributed.run"), ("python", "-m", "torch.distributed.launch")
SIZE = ("--nnodes=2", "--nproc_per_node=2")
# each with a port of its own: two of the jobs may share hosts
LINES = {
    "torchrun": ("torchrun", *SIZE, *WRONG, "--master_port=29500", "total.py"),
    "launch": (*LAUNCH, *SIZE, *WRONG, "--master_port=29501", "total.py"),
    "srun": ("srun", "-N2", "-n4", "python", "total.py"),
    "srun-torchrun": ("srun", "-N2", "-n2", *RUN, *SIZE, *WRONG, "--master_port=29502", "total.py"),
}


@pytest.fixture(scope="module")
def stands(example_lab, tmp_path_factory):
    """Two hosts with four simulated GPUs each."""
    changes = {"gpu-node[1-4]": "gpu-node[1-2]"}
    with example_lab(tmp_path_factory.mktemp("lab"), "launch-lines", "10.235", changes) as lab:
        yield lab


@pytest.fixture(scope="module")
def submitted(stands, tmp_path_factory):
    """Every run by the name of its line; nobody waits yet."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "total.py").write_text(SUM)
    runs = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, line in LINES.items():
            gpus = 2 if name == "srun-torchrun" else None
            wish = resolve_job(line, Typed(time="10m", gpus=gpus).overrides(), stands.file)
            runs[name] = submit(wish.job, wish.cluster, stands.remote, user="alice", base_folder=folder)
    return runs


@pytest.mark.parametrize("name", LINES)
def test_every_rank_has_its_own_number(stands, submitted, name):
    """Two on each host, whatever the line has."""
    run = submitted[name]
    end = wait_for(run, RemoteReader(stands.remote, "control"), limit_s=400)
    output = stands.sh("control", f"cd {run.folder} && find slurm-*.out logs -type f -exec cat {{}} +")

    assert end.outcome == "finished", output
    found = sorted(re.findall(r"rank (\d) of 4 local (\d) sum 6", output))
    assert found == [("0", "0"), ("1", "1"), ("2", "0"), ("3", "1")], output


def test_a_plugin_that_slurm_has_not_is_refused(stands, tmp_path):
    """With those that it has; nothing is submitted."""
    (tmp_path / "total.py").write_text(SUM)
    line = ("srun", "--mpi=pmix_v99", "-N2", "-n4", "python", "total.py")
    wish = resolve_job(line, Typed(time="10m").overrides(), stands.file)
    with pytest.raises(WrightError) as error:
        submit(wish.job, wish.cluster, stands.remote, user="alice", base_folder=Path(tmp_path))

    assert error.value.code == "mpi-plugin"
    assert "pmi2" in str(error.value)
