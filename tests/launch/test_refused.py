"""What a job cannot ask, refused before anything is submitted, with its place and a fix."""

import json
from importlib.util import find_spec

import pytest

from clusterwright.config.load import check_job_against, job_of
from clusterwright.config.names import is_secret
from clusterwright.config.reader import read
from clusterwright.errors import WrightError
from clusterwright.launch.command import launch_of
from clusterwright.launch.script import script

RUN = "/shared/runs/x"


def refused(cluster, **fields):
    """Codes and places of what is said of a job."""
    job = {"name": "x", "time": "30m", **fields}
    if not {"recipe", "command", "program"} & job.keys():
        job["command"] = ["train.py"]
    try:
        made = job_of(read(json.dumps(job), "job.yaml"))
    except WrightError as error:
        return {(one.code, one.places[0].path) for one in error.findings}
    return {(one.code, one.places[0].path) for one in check_job_against(made, cluster)}


@pytest.mark.parametrize(
    ("fields", "code", "place"),
    [
        ({"nodes": 5}, "too-many-nodes", "nodes"),
        ({"gpus_per_node": 5}, "too-many-gpus", "gpus_per_node"),
        ({"time": "2d"}, "time-over-limit", "time"),
        ({"nodes": 2, "gpus_per_node": 2, "parallel": {"tensor": 3}}, "parallel-mismatch", "parallel.tensor"),
        ({"recipe": "gpt", "arguments": {"batch": 3}, "gpus_per_node": 4}, "batch-indivisible", "arguments.batch"),
        (
            {"command": ["p.py", "--global-batch-size", "9"], "framework": "megatron", "gpus_per_node": 4,
             "parallel": {"micro_batch": 2}},
            "batch-indivisible", "command",
        ),
        ({"environment": {"variables": {"HF_TOKEN": "hf_abc"}}}, "secret-in-job", "environment.variables.HF_TOKEN"),
        ({"launcher": "srun", "recovery": {"on_host_loss": "shrink"}}, "launcher-cannot", "launcher"),
        ({"launcher": "mpirun", "warm": {"imports": ["numpy"]}}, "launcher-cannot", "launcher"),
        ({"framework": "jax", "launcher": "agent"}, "launcher-cannot", "launcher"),
        ({"program": ["./a.out"], "command": ["train.py"]}, "command-or-recipe", "command"),
        ({"array": "0-9", "sweep": {"lr": [1]}}, "array-and-sweep", "array"),
        ({"array": "0-9%"}, "bad-name", "array"),
        ({"sweep": {"a": list(range(40)), "b": list(range(26))}}, "array-too-large", "sweep"),
        ({"array": "1-2", "checkpoint": {"folder": "/shared/one"}}, "array-one-folder", "checkpoint.folder"),
        ({"dependencies": ["$(reboot)"]}, "bad-name", "dependencies[0]"),
        ({"framework": "caffe"}, "not-a-choice", "framework"),
    ],
)  # fmt: skip
def test_it_is_refused_at_its_place(cluster, fields, code, place):
    """By the rule that it breaks."""
    assert (code, place) in refused(cluster, **fields)


def test_a_batch_of_whole_microbatches_is_taken(cluster):
    """4 replicas of 2 samples each: 16 is two microbatches for every one."""
    words = ["p.py", "--global-batch-size=16", "--micro-batch-size", "2"]

    assert refused(cluster, command=words, framework="megatron", gpus_per_node=4) == set()


@pytest.mark.parametrize("size", ["--tensor-model-parallel-size=2", "--pipeline_model_parallel_size=4"])
@pytest.mark.parametrize("layout", [None, {"micro_batch": 2}])
def test_a_batch_is_not_judged_by_replicas_that_the_command_line_sizes(cluster, size, layout):
    """Of 4 GPUs with tensor 2 a batch of 6 is 3 for each of 2 replicas; the rule counted 4 replicas."""
    parallel = {} if layout is None else {"parallel": layout}
    words = ["p.py", "--global-batch-size=6", size]

    assert refused(cluster, command=words, framework="megatron", gpus_per_node=4, **parallel) == set()


def test_a_secret_is_told_by_its_name():
    """And not where a word only looks like one."""
    secrets = ("HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "DBPASSWORD", "token", "MY_PASSWD")
    plain = ("TOKENIZERS_PARALLELISM", "NCCL_DEBUG", "KEYBOARD", "MONKEY", "KMP_AFFINITY")

    assert [name for name in secrets if not is_secret(name)] == []
    assert [name for name in plain if is_secret(name)] == []


def test_the_value_of_a_secret_is_in_no_error(cluster):
    """Its name is."""
    job = {
        "name": "x",
        "time": "30m",
        "command": ["a.py"],
        "environment": {"variables": {"HF_TOKEN": "hf_abc"}},
    }
    with pytest.raises(WrightError) as error:
        job_of(read(json.dumps(job), "job.yaml"))

    assert "HF_TOKEN" in str(error.value)
    assert "hf_abc" not in str(error.value)


@pytest.mark.parametrize("launcher", ["srun", "mpirun", "host", "batch"])
def test_a_plain_launcher_has_a_task_for_each_gpu(cluster, a_job, launcher):
    """And shares the host's processors out to them; a program is not begun anew unless the job says so."""
    job = a_job(recipe=None, program=["./a.out"], launcher=launcher, gpus_per_node=2)
    text, told = script(job, cluster, RUN), launch_of(job, cluster, RUN)

    assert "#SBATCH --ntasks-per-node=2 " in text
    assert "#SBATCH --cpus-per-task=4 " in text
    module = text.split()[-2]
    assert text.endswith(f"/run_module.py {module} {RUN}\n")
    assert find_spec(module).name == "clusterwright.onhost.supervisor.unsupervised"
    assert (told.restarts, told.command) == (0, ("./a.out",))
    assert "--no-kill" not in text


def test_a_framework_chooses_its_launcher_and_the_job_comes_first(cluster, a_job):
    """JAX reads Slurm's variables; a job may take MPI's."""
    fields = {"recipe": None, "command": ["train.py"], "framework": "jax"}

    assert launch_of(a_job(**fields), cluster, RUN).launcher == "srun"
    assert launch_of(a_job(**fields, launcher="mpirun"), cluster, RUN).launcher == "mpirun"


def test_a_framework_is_looked_for_before_hosts_wait_for_each_other(cluster, a_job):
    """Where the job names one."""
    fields = {"recipe": None, "command": ["train.py"]}

    assert "adapters.framework_check /shared/runs/x lightning || exit 1\n" in script(
        a_job(**fields, framework="lightning"), cluster, RUN
    )
    assert "adapters.look" not in script(a_job(**fields), cluster, RUN)
