"""What a session asks of Slurm, and what is refused before any host is asked."""

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.errors import WrightError
from clusterwright.launch.dev import SessionOptions, checked, script
from clusterwright.launch.share import share
from clusterwright.units import GiB, parse_duration

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def cluster():
    """Hosts of 4 GPUs and 16 cores."""
    return load_cluster(EXAMPLES / "lab" / "cluster.yaml")


def wish(**fields):
    """One GPU for an hour."""
    return SessionOptions(**{"kind": "jupyter", "gpus": 1, "time_s": 3600, "idle_s": 7200, **fields})


def test_a_session_gets_the_share_of_a_host_that_goes_with_its_gpus(cluster):
    """A quarter of the CPUs and of the memory for one GPU of four; what is typed comes first."""
    one, two = checked(wish(), cluster), checked(wish(gpus=2), cluster)

    assert (one.partition, one.gres, two.gres) == ("train", "gpu:1", "gpu:2")
    assert (two.cpus, two.memory_mib) == (2 * one.cpus, 2 * one.memory_mib)
    asked = checked(wish(cpus=3, memory_bytes=2 * GiB), cluster)
    assert (asked.cpus, asked.memory_mib) == (3, 2048)
    assert checked(wish(gpus=0), cluster).gres is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"partition": "trian"}, r"dev-partition.*`trian` does not exist.* train\nfix: use --partition train"),
        ({"gpus": 5}, r"dev-gpus.*5 GPUs are more than a host of partition `train` has, 4\nfix: use --gpus 4"),
        ({"time_s": parse_duration("2d")}, r"dev-time.*2d is over the time limit of .*`train`, 1d\nfix: use --time 1d"),
    ],
)  # fmt: skip
def test_what_the_cluster_does_not_have_is_refused_with_the_mend(cluster, fields, said):
    """Exit code 2, before any ssh."""
    with pytest.raises(WrightError, match=f"error.{said}") as caught:
        script(wish(**fields), cluster)

    assert caught.value.exit_code == 2


def test_a_whole_host_is_no_more_than_slurm_has_of_it(cluster):
    """31/32 of its memory, less what is the system's own; a partition's shares for each GPU are kept to."""
    group = cluster.nodes["a100"]
    asked = checked(wish(gpus=4), cluster)
    part = cluster.partitions["train"].model_copy(update={"cpus_per_gpu": 2, "memory_per_gpu": GiB})
    narrow = cluster.model_copy(update={"partitions": {"train": part}})

    assert (asked.cpus, asked.memory_mib) == (
        16,
        16 * 1024 * 31 // 32 - group.memory_reserved // (1024 * 1024),
    )
    assert (checked(wish(gpus=3), narrow).cpus, checked(wish(gpus=3), narrow).memory_mib) == (6, 3072)


def test_options_of_the_node_line_are_what_slurm_has(cluster):
    """A session requests what a training does: CPUs and memory of the NodeName line; no memory that is not known."""
    group = cluster.nodes["a100"]

    def with_options(gpus, **options):
        nodes = {**cluster.nodes, "a100": group.model_copy(update={"options": options})}
        return cluster.model_copy(update={"nodes": nodes}), wish(gpus=gpus)

    def resources(gpus, **options):
        narrow, options_of_session = with_options(gpus, **options)
        asked = checked(options_of_session, narrow)
        return asked.cpus, asked.memory_mib

    assert resources(4, CPUs="8", RealMemory="900") == (8, 900)
    assert resources(2, CPUs="8", RealMemory="900", MemSpecLimit="100") == (4, 400)
    assert resources(0, CPUs="8", RealMemory="900") == (1, 112)
    assert resources(4, RealMemory="1") == (16, None)
    unknown, options = with_options(1, RealMemory="1")
    assert "--mem" not in script(options, unknown)
    assert "--mem=2048M" in script(replace(options, memory_bytes=2 * GiB), unknown)


def test_a_session_has_the_share_of_a_training(cluster, a_job):
    """Where the partition sets none for each GPU."""
    for gpus in (1, 2, 4):
        training, session = share(a_job(gpus_per_node=gpus), cluster), checked(wish(gpus=gpus), cluster)
        assert (session.cpus, session.memory_mib) == (training.cpus, training.memory_mib)


def test_a_partition_may_give_fewer_gpus_than_its_hosts_have(cluster):
    """`gpus_per_node` is the most a job may ask."""
    part = cluster.partitions["train"].model_copy(update={"gpus_per_node": 2})
    narrow = cluster.model_copy(update={"partitions": {"train": part}})

    with pytest.raises(WrightError, match="has, 2"):
        checked(wish(gpus=3), narrow)


def test_a_cluster_without_partitions_has_no_session(cluster):
    """It is said, and nothing is divided by nothing."""
    with pytest.raises(WrightError, match="the cluster has no partition"):
        checked(wish(), cluster.model_copy(update={"partitions": {}}))


def test_the_script_is_bash_and_says_what_was_asked(cluster):
    """As trainings find it: modules, the library, the cluster's variables and the job file's."""
    text = script(wish(team="vision", modules=("cuda",), variables=(("GREETING", "it's $HOME"),)), cluster)

    lines = text.splitlines()
    wanted = (
        "--job-name=wright-dev-jupyter",
        "--account=vision",
        "--gres=gpu:1",
        "--time=0-01:00:00",
        "--no-requeue",
    )
    assert {f"#SBATCH {each}" for each in wanted} <= set(lines)
    assert "module load cuda" in lines
    assert "export GREETING=" + shlex.quote("it's $HOME") in lines
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
