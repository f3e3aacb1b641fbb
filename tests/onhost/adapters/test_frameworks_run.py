"""Frameworks that the tests' environment has not, from pip in environments of their own: two processes train together.

What they are told comes from our adapters, or from Slurm's variables. Minutes, and 1 GB of downloads.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

from clusterwright.onhost.adapters import registry
from clusterwright.onhost.adapters.process_context import ProcessContext

pytestmark = [pytest.mark.train, pytest.mark.long, pytest.mark.timeout(1500)]

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "examples" / "jobs" / "programs"
CUT = {
    "tensor": 2, "pipeline": 4, "context": 1, "expert": 1, "expert_tensor": 1, "data": 4, "shard": "full",
    "shard_group": 2, "micro_batch": 3, "sequence_parallel": True, "recompute": "full",
}  # fmt: skip
PLACE = ProcessContext(("a", "b"), 1, 2, "10.0.1.11", 20000, 1, "7", tuple(CUT.items()))
# What is read in place of a whole configuration, which needs Triton: the part of it that our adapter speaks of.
TITANS = """
import dataclasses, json, sys, tyro
from torchtitan.config import configs

@dataclasses.dataclass
class Whole:
    parallelism: configs.ParallelismConfig = dataclasses.field(default_factory=configs.ParallelismConfig)

print(json.dumps(dataclasses.asdict(tyro.cli(Whole, args=sys.argv[1:]).parallelism), default=str))
"""
MEGATRONS = """
import dataclasses, json
from megatron.core.distributed import DistributedDataParallelConfig
from megatron.core.transformer.transformer_config import TransformerConfig
print(json.dumps([f.name for c in (DistributedDataParallelConfig, TransformerConfig) for f in dataclasses.fields(c)]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """`installed("jax[cpu]")` is a Python that has it, and torch from the tests' environment where `torch` is said."""
    made = {}

    def with_(*packages, torch=False):
        if packages not in made:
            folder = tmp_path_factory.mktemp("env")
            venv.create(folder, with_pip=True)
            python = folder / "bin" / "python"
            if torch:
                [site] = folder.glob("lib/python*/site-packages")
                (site / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
            command = [python, "-m", "pip", "install", "-q", *packages]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"pip cannot install {' '.join(packages)} here: {done.stderr[-300:]}")
            made[packages] = python
        return made[packages]

    return with_


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def as_task(rank, port):
    """What Slurm says to a task, and our script to all."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLUSTERWRIGHT_", "SLURM_"))}
    ours = {
        "PYTHONPATH": str(ROOT / "src"), "CLUSTERWRIGHT_HOSTS": "127.0.0.1", "CLUSTERWRIGHT_RANKS": "2",
        "CLUSTERWRIGHT_FIRST": f"127.0.0.1:{port}", "GLOO_SOCKET_IFNAME": "lo", "SLURM_JOB_ID": str(port),
        "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_NODEID": "0", "SLURM_NTASKS": "2",
        "SLURM_STEP_NODELIST": "127.0.0.1",
    }  # fmt: skip
    return {**kept, **ours}


def begun(python, kind, framework, *words, processes=2, **variables):
    """What all processes of the framework said."""
    port = free_port()
    command = [python, "-m", "clusterwright.onhost.adapters.begin", kind, framework, *words]
    ranks = [
        subprocess.Popen(
            command, cwd=PROGRAMS, env={**as_task(rank, port), **variables}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for rank in range(processes)
    ]  # fmt: skip
    try:
        return "".join(each.communicate(timeout=600)[0] for each in ranks)
    finally:
        for each in ranks:
            each.kill()


def ranks(said):
    """Of every line that a rank printed: its number, how many there are, and its weight."""
    return sorted(re.findall(r"rank (\d) of (\d) weight ([\d.]+)", said))


@pytest.mark.parametrize(("framework", "package"), [("jax", "jax[cpu]"), ("tensorflow", "tensorflow-cpu")])
def test_tasks_of_slurms_train_together(installed, framework, package):
    """Each finds its number and the others, and has the weight that all have: the line is nearly fitted."""
    said = begun(installed(package), "task", framework, "python", f"with_{framework}.py")
    found = ranks(said)

    assert [each[:2] for each in found] == [("0", "2"), ("1", "2")], said
    assert found[0][2] == found[1][2]
    assert 1.9 < float(found[0][2]) < 2


def test_deepspeeds_own_line_trains(installed):
    """`deepspeed with_deepspeed.py`, which compiles an operator first."""
    if not shutil.which("g++"):
        pytest.skip("DeepSpeed compiles its operators with g++, which is not here")
    python = installed("deepspeed", torch=True)
    said = begun(python, "host", "deepspeed", "deepspeed", "with_deepspeed.py", processes=1)
    found = ranks(said)

    assert [each[:2] for each in found] == [("0", "2"), ("1", "2")], said
    assert found[0][2] == found[1][2]
    assert 1.7 < float(found[0][2]) < 2


def exact_losses(run):
    """The exact loss of each step."""
    lines = (run / "events" / "rank-00000.jsonl").read_text().splitlines()
    return {row["step"]: row["loss_hex"] for row in map(json.loads, lines) if row["event"] == "step"}


def test_fairscales_sharded_optimizer_resumes(installed, tmp_path):
    """OSS and ShardedDDP on two ranks; from a checkpoint, the same losses follow; three ranks resume, too."""
    python = installed("--no-build-isolation", "--no-deps", "fairscale", torch=True)
    runs = {name: tmp_path / name for name in ("undisturbed", "resumed", "grown")}

    def trained(name, processes):
        runs[name].mkdir(exist_ok=True)
        about = {"CLUSTERWRIGHT_RUN": str(runs[name]), "CLUSTERWRIGHT_CHECKPOINT_EVERY": "steps:5"}
        about |= {
            "OMP_NUM_THREADS": "1",
            "SLURM_NTASKS": str(processes),
            "CLUSTERWRIGHT_RANKS": str(processes),
        }
        words = ("python", "with_fairscale.py")
        return begun(python, "task", "fairscale", *words, processes=processes, **about)

    said = trained("undisturbed", 2)
    assert [each[:2] for each in ranks(said)] == [("0", "2"), ("1", "2")], said
    checkpoint = runs["undisturbed"] / "checkpoints" / "step-00000010"
    for name in ("resumed", "grown"):
        shutil.copytree(checkpoint, runs[name] / "checkpoints" / "step-00000010")

    again = trained("resumed", 2)
    expected = exact_losses(runs["undisturbed"])
    assert ranks(again) == ranks(said)
    assert exact_losses(runs["resumed"]) == {step: expected[step] for step in range(11, 21)}
    more = trained("grown", 3)
    assert [each[:2] for each in ranks(more)] == [("0", "3"), ("1", "3"), ("2", "3")], more
    assert min(exact_losses(runs["grown"])) == 11


def test_torchtitan_reads_the_degrees(installed):
    """By the parser that it has from tyro, and its own names."""
    python = installed("torchtitan", "tyro", torch=True)
    added = registry.adapter("torchtitan").arguments((), PLACE)
    done = subprocess.run([python, "-c", TITANS, *added], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout.splitlines()[-1])

    assert done.returncode == 0, done.stderr
    assert [found[f"{name}_degree"] for name in (
        "data_parallel_replicate", "data_parallel_shard", "tensor_parallel", "pipeline_parallel", "context_parallel",
    )] == [2, 2, 2, 4, 1]  # fmt: skip


def test_megatron_has_the_names_that_it_is_told(installed):
    """Its arguments are made of the fields of its configuration; the parser itself is not in its package."""
    python = installed("megatron-core", torch=True)
    added = registry.adapter("megatron").arguments((), PLACE)
    done = subprocess.run([python, "-c", MEGATRONS], capture_output=True, text=True, check=False)
    told = {word.partition("=")[0].removeprefix("--").replace("-", "_") for word in added}

    assert done.returncode == 0, done.stderr
    assert told - set(json.loads(done.stdout.splitlines()[-1])) == {"micro_batch_size"}  # of its parser alone


def test_the_examples_are_those_that_were_run():
    """What a user submits is the program above."""
    said = {name: (ROOT / "examples" / "jobs" / f"{name}.yaml").read_text() for name in ("jax", "tensorflow")}

    assert all(f"command: [with_{name}.py]\n" in text for name, text in said.items())
