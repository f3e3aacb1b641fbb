"""What each framework is told, held against its own reader where it is installed, and never over what was said."""

import base64
import json
import os
import subprocess
import sys

import pytest

from clusterwright.onhost.adapters import begin, registry
from clusterwright.onhost.adapters.process_context import ProcessContext, read

NAMES = registry.framework_names()
HOSTS = ("gpu-node1", "gpu-node2")
RANK = ProcessContext(HOSTS, 1, 2, "10.0.1.11", 20000, 1, "7")
HOST = ProcessContext(HOSTS, 1, 2, "10.0.1.11", 20000, -1, "7")
CUT = {
    "tensor": 2, "pipeline": 2, "context": 1, "expert": 1, "expert_tensor": 1, "data": 4, "shard": "full",
    "shard_group": 2, "micro_batch": 3, "sequence_parallel": True, "recompute": "full",
}  # fmt: skip
SLURM = {
    "CLUSTERWRIGHT_HOSTS": "gpu-node1,gpu-node2", "CLUSTERWRIGHT_RANKS": "2", "CLUSTERWRIGHT_FIRST": "10.0.1.11:20000",
    "SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_NODEID": "1", "SLURM_JOB_ID": "7",
}  # fmt: skip


def cut(place):
    """The place in a job that says how the model is cut."""
    return ProcessContext(
        place.hosts,
        place.host,
        place.ranks,
        place.address,
        place.port,
        place.local_rank,
        "7",
        tuple(CUT.items()),
    )


def test_a_task_of_slurms_knows_its_place():
    """Host by host, as `--distribution=block` deals them out."""
    assert read(SLURM) == RANK
    assert (RANK.rank, RANK.world, RANK.host) == (3, 4, 1)


def test_a_rank_of_open_mpi_knows_its_place_though_slurm_calls_its_daemon_a_task():
    """Its mpirun has one task on each host, whose number is not the rank's."""
    mpi = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}

    assert read({**SLURM, "SLURM_PROCID": "1", "SLURM_LOCALID": "0", **mpi}) == RANK


def test_who_starts_the_ranks_of_a_host_is_none_of_them():
    """Its number is the host's."""
    assert read(SLURM, starts_ranks=True) == HOST


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_is_said_is_overwritten(name):
    """Neither in the environment nor on the line."""
    framework = registry.adapter(name)
    told = begin.missing_variables("task", RANK, framework, {})
    kept = begin.missing_variables("task", RANK, framework, dict.fromkeys(told, "mine"))
    line = framework.arguments(("python", "train.py"), cut(RANK))

    assert {"RANK", "MASTER_ADDR"} <= told.keys()
    assert kept == {}
    assert framework.arguments(line, cut(RANK)) == line


@pytest.mark.parametrize("name", NAMES)
def test_a_framework_that_can_be_missing_says_how_it_is_installed(name):
    """The line that fixes it."""
    framework = registry.adapter(name)

    assert bool(framework.module) <= framework.install.startswith("pip install ")


def test_torchruns_own_parser_reads_what_its_line_leaves_out(monkeypatch):
    """PET_ variables are its defaults; what the line says comes first."""
    run = pytest.importorskip("torch.distributed.run")
    for variable, text in begin.missing_variables("host", HOST, registry.adapter("pytorch"), {}).items():
        monkeypatch.setenv(variable, text)
    bare, said = (
        run.parse_args(["train.py"]),
        run.parse_args(["--nnodes=1:4", "--rdzv-backend=c10d", "train.py"]),
    )
    fixed, _, _ = run.config_from_args(bare)
    elastic, _, _ = run.config_from_args(said)

    assert (fixed.min_nodes, fixed.max_nodes, fixed.nproc_per_node) == (2, 2, 2)
    assert (fixed.rdzv_backend, fixed.rdzv_endpoint) == ("static", "10.0.1.11:20000")
    assert (fixed.rdzv_configs["rank"], fixed.run_id) == (1, "7")
    assert (elastic.min_nodes, elastic.max_nodes, elastic.rdzv_backend) == (1, 4, "c10d")
    assert elastic.rdzv_configs["is_host"] == "0"


def test_the_old_launcher_of_torch_reads_them_too(monkeypatch):
    """`python -m torch.distributed.launch` has torchrun's parser."""
    launch = pytest.importorskip("torch.distributed.launch")
    for variable, text in begin.missing_variables("host", HOST, registry.adapter("pytorch"), {}).items():
        monkeypatch.setenv(variable, text)
    found = launch.parse_args(["--nproc_per_node=8", "train.py"])

    assert (found.nproc_per_node, found.nnodes, found.node_rank) == ("8", "2", 1)
    assert (found.master_addr, found.master_port) == ("10.0.1.11", 20000)


def accelerates(words):
    """What accelerate's own parser makes of `accelerate launch ...`."""
    launch = pytest.importorskip("accelerate.commands.launch")
    line = registry.adapter("accelerate").arguments(words, HOST)
    return launch.launch_command_parser().parse_args(line[2:])


def test_accelerate_launch_is_told_the_machines():
    """Where it does not say them itself."""
    found = accelerates(("accelerate", "launch", "train.py", "--lr", "1"))

    assert (found.num_machines, found.num_processes, found.machine_rank) == (2, 4, 1)
    assert (found.main_process_ip, found.main_process_port) == ("10.0.1.11", 20000)
    assert (found.multi_gpu, found.training_script, found.training_script_args) == (
        True,
        "train.py",
        ["--lr", "1"],
    )


def test_what_accelerate_launch_says_stays():
    """Also with an underscore, and with the value in the next word."""
    found = accelerates(
        ("accelerate", "launch", "--cpu", "--num_processes", "8", "--main-process-port=5", "train.py")
    )

    assert (found.cpu, found.multi_gpu, found.num_processes, found.main_process_port) == (True, False, 8, 5)


DEEPSPEED = (
    "deepspeed", "--hostfile=hosts", "--num_gpus", "8", "--no_local_rank", "--master_port", "5", "train.py", "-x",
)  # fmt: skip


def test_deepspeeds_launcher_is_told_the_hosts():
    """In place of a hostfile and ssh; options about hosts fall away, others stay."""
    line = registry.adapter("deepspeed").arguments(DEEPSPEED, HOST)
    world = json.loads(base64.urlsafe_b64decode(line[4].partition("=")[2]))

    assert line[:4] == ("python", "-u", "-m", "deepspeed.launcher.launch")
    assert world == {"gpu-node1": [0, 1], "gpu-node2": [0, 1]}
    assert line[5:] == (
        "--node_rank=1", "--master_port", "5", "--master_addr=10.0.1.11", "--no_local_rank", "train.py", "-x",
    )  # fmt: skip


def test_deepspeeds_launcher_reads_it(monkeypatch):
    """By its own parser, where it is installed."""
    launch = pytest.importorskip("deepspeed.launcher.launch")
    line = registry.adapter("deepspeed").arguments(DEEPSPEED, HOST)
    monkeypatch.setattr(sys, "argv", ["launch", *line[4:]])
    found = launch.parse_args()

    assert (found.node_rank, found.master_addr, found.master_port, found.no_local_rank) == (
        1,
        "10.0.1.11",
        5,
        True,
    )
    assert (found.training_script, found.training_script_args) == ("train.py", ["-x"])


def test_megatron_is_told_the_groups_of_the_job():
    """By the names of its arguments (megatron/training/arguments.py, core 0.12); what the line has stays."""
    framework = registry.adapter("megatron")
    line = framework.arguments(("python", "pretrain_gpt.py", "--tensor-model-parallel-size", "8"), cut(RANK))

    assert begin.missing_variables("rank", RANK, framework, {}) == {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    assert set(line[4:]) == {
        "--pipeline-model-parallel-size=2", "--micro-batch-size=3", "--sequence-parallel",
        "--use-distributed-optimizer", "--recompute-granularity=full", "--recompute-method=uniform",
        "--recompute-num-layers=1",
    }  # fmt: skip
    assert framework.arguments(("python", "pretrain_gpt.py"), RANK) == ("python", "pretrain_gpt.py")


def test_torchtitan_is_told_the_degrees_of_the_job():
    """By the names of its configuration (torchtitan/config, Parallelism); what the line has stays."""
    line = registry.adapter("torchtitan").arguments(
        ("python", "-m", "torchtitan.train", "--parallelism.pipeline-parallel-degree=4"), cut(RANK)
    )

    assert set(line[4:]) == {
        "--parallelism.data_parallel_replicate_degree=2", "--parallelism.data_parallel_shard_degree=2",
        "--parallelism.tensor_parallel_degree=2", "--parallelism.context_parallel_degree=1",
        "--parallelism.expert_parallel_degree=1",
    }  # fmt: skip


def test_every_worker_of_tensorflow_is_named_with_a_port_of_its_own():
    """In the form of tf.distribute's TFConfigClusterResolver: cluster, and which task this is."""
    told = json.loads(begin.missing_variables("rank", RANK, registry.adapter("tensorflow"), {})["TF_CONFIG"])

    assert told["cluster"]["worker"] == [
        "gpu-node1:20001",
        "gpu-node1:20002",
        "gpu-node2:20001",
        "gpu-node2:20002",
    ]
    assert told["task"] == {"type": "worker", "index": 3}


def test_lightning_takes_a_rank_of_ours_for_one_of_torchruns(monkeypatch):
    """Before it looks at Slurm, whose task is our agent."""
    environments = pytest.importorskip("lightning.fabric.plugins.environments")
    for variable in ("TORCHELASTIC_RUN_ID", "GROUP_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(variable, "1")

    assert environments.TorchElasticEnvironment.detect()


def test_a_process_becomes_the_program_with_what_was_missing():
    """By a task of Slurm's, in the job's own Python."""
    code = "import os, sys; print(os.environ['RANK'], os.environ['MASTER_PORT'], sys.argv[1:])"
    argv = [
        sys.executable,
        "-m",
        "clusterwright.onhost.adapters.begin",
        "task",
        "pytorch",
        "python",
        "-c",
        code,
        "a b",
    ]
    done = subprocess.run(
        argv, env={**SLURM, "MASTER_PORT": "5"}, capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.stderr) == ("3 5 ['a b']\n", "")


def test_torchrun_that_is_not_there_is_a_module_of_the_job_s_python(tmp_path):
    """As on hosts whose torch was installed for another path: the script is there, its interpreter is not."""
    (tmp_path / "torchrun").write_text("#!/nowhere/python\n")
    (tmp_path / "torchrun").chmod(0o755)
    argv = [
        sys.executable,
        "-m",
        "clusterwright.onhost.adapters.begin",
        "host",
        "pytorch",
        "torchrun",
        "--help",
    ]
    env = {**os.environ, **SLURM, "PATH": str(tmp_path)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)

    assert done.returncode == 0 or "No module named 'torch'" in done.stderr
    assert "--nproc-per-node" in done.stdout or "No module named" in done.stderr


def test_a_program_that_is_not_there_is_named_with_its_host():
    """One line, no traceback."""
    argv = [sys.executable, "-m", "clusterwright.onhost.adapters.begin", "task", "mpi", "./nothere"]
    done = subprocess.run(argv, env=SLURM, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith("./nothere: No such file or directory on ")
