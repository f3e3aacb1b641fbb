"""A cluster described by Slurm's records: groups, partitions, network, whatever the names contain."""

from ipaddress import IPv4Address, ip_network

import pytest

from clusterwright.config.cluster import Unmanaged
from clusterwright.config.job import Job
from clusterwright.config.load import check_job_against
from clusterwright.errors import WrightError
from clusterwright.launch.script import script
from clusterwright.launch.unmanaged.learn import SlurmTexts, covering, learn
from clusterwright.units import MiB

CONFIG = """Configuration data as of 2026-11-27T15:53:14
ClusterName             = Big_Lab
SLURM_VERSION           = 23.02.7
SlurmctldHost[0]        = ctl(10.1.0.2)

Slurmctld(primary) at ctl is UP
"""
FULL = " CoresPerSocket=32 CPUTot={cpus} Gres={gres} NodeAddr={name} RealMemory={memory} Sockets=2"
NODE = (
    "NodeName={name}" + FULL + " ThreadsPerCore=2 MemSpecLimit=2048 State={state} Partitions={partitions}\n"
)
GPU = {"cpus": 128, "gres": "gpu:A100:8(S:0-1)", "memory": 1030000, "state": "IDLE", "partitions": "gpu,all"}
CPU = {"cpus": 128, "gres": "(null)", "memory": 515000, "state": "DOWN*+DRAIN", "partitions": "all"}
NODES = "".join(
    NODE.format(name=name, **kind)
    for name, kind in {"GPU-01.example": GPU, "GPU-02.example": GPU, "cn_7": CPU, "rack2-9": CPU}.items()
)
PARTITION = (
    "PartitionName={name} Default={default} MaxNodes={most} MaxTime={time} Nodes={nodes} State={state}\n"
)
PARTITIONS = (
    PARTITION.format(
        name="gpu", default="YES", most="2", time="1-00:00:00", nodes="GPU-[01-02].example", state="UP"
    )
    + PARTITION.format(
        name="all",
        default="NO",
        most="UNLIMITED",
        time="UNLIMITED",
        nodes="GPU-[01-02].example,cn_7,rack2-9",
        state="UP",
    )
    + PARTITION.format(name="old", default="NO", most="1", time="60", nodes="cn_7", state="DOWN")
    + PARTITION.format(name="empty", default="NO", most="1", time="60", nodes="(null)", state="UP")
)


@pytest.fixture
def learned():
    """The cluster of the records, as a user of its login host sees it."""

    def learn_it(login=None, **texts):
        both = {
            "config": CONFIG,
            "nodes": NODES,
            "partitions": PARTITIONS,
            "addresses": "10.1.0.9\n10.1.3.4\n",
        }
        return learn(
            SlurmTexts(**{**both, "host": "login1", **texts}),
            "/home/bob/clusterwright",
            Unmanaged(login=login),
            "/venv/bin/python",
        )

    return learn_it


def test_nodes_of_the_same_hardware_are_a_group(learned):
    """The names are Slurm's, also those that no cluster file may have."""
    cluster = learned()
    assert cluster.name == "Big_Lab"
    assert cluster.software.slurm == "23.02"
    gpu, cpu = cluster.nodes["a100-8"], cluster.nodes["cpu-128"]
    assert gpu.names() == ("GPU-01.example", "GPU-02.example")
    assert cpu.names() == ("cn_7", "rack2-9")
    assert (gpu.gpus.model, gpu.gpus.count, cpu.gpus) == ("A100", 8, None)
    assert (gpu.cpus.sockets, gpu.cpus.cores_per_socket, gpu.cpus.threads_per_core) == (2, 32, 2)


def test_partitions_that_are_up_are_there(learned):
    """With their groups and limits; without a limit the longest time that a job may ask for."""
    partitions = learned().partitions
    assert set(partitions) == {"gpu", "all"}
    assert partitions["gpu"].nodes == ("a100-8",)
    assert set(partitions["all"].nodes) == {"a100-8", "cpu-128"}
    assert (partitions["gpu"].max_time, partitions["gpu"].max_nodes, partitions["gpu"].default) == (
        86400,
        2,
        True,
    )
    assert partitions["all"].max_time == 366 * 86400


def test_a_job_asks_for_no_more_than_a_node_has(learned):
    """Memory and CPUs are the GPUs' share of what Slurm may allocate."""
    job = Job.model_validate(
        {"name": "t", "command": ["t.py"], "gpus_per_node": 4, "nodes": 2, "time": "1h"}, strict=False
    )
    cluster = learned()
    text = script(job, cluster, "/home/bob/clusterwright/runs/t-1")
    memory = int(next(line.split("=")[1].split("M")[0] for line in text.splitlines() if "--mem=" in line))
    assert (1030000 - 2048) / 2 * 0.99 < memory <= (1030000 - 2048) / 2
    assert "--gres=gpu:A100:4" in text
    assert "--cpus-per-task=64" in text
    assert "export PYTHONPATH=/home/bob/clusterwright/runs/.library/" in text
    assert "/onhost/lib/run_module.py clusterwright.onhost.supervisor" in text
    assert cluster.nodes["a100-8"].memory // MiB * 31 // 32 >= 1030000


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"gpus_per_node": 9}, "too-many-gpus"), ({"nodes": 3}, "too-many-nodes"), ({"time": "2d"}, "time-over-limit"),
     ({"partition": "old"}, "unknown-name")],
)  # fmt: skip
def test_what_slurm_would_refuse_is_refused_before(learned, fields, code):
    """A job that no node can run ends here, not as a pending job."""
    plain = {"name": "t", "command": ["t.py"], "gpus_per_node": 1, "nodes": 1, "time": "1h"}
    job = Job.model_validate({**plain, **fields}, strict=False)
    assert [finding.code for finding in check_job_against(job, learned())] == [code]


def test_users_teams_and_folders_are_for_slurm_to_judge(learned):
    """The records have neither accounts nor mounts."""
    job = Job.model_validate(
        {
            "name": "t",
            "command": ["t.py"],
            "team": "physics",
            "checkpoint": {"folder": "/scratch/bob"},
            "time": "1h",
        },
        strict=False,
    )
    assert check_job_against(job, learned()) == ()


def test_without_a_default_partition_the_job_names_one(learned):
    """The error lists the partitions."""
    cluster = learned(partitions=PARTITIONS.replace("Default=YES", "Default=NO"))
    job = Job.model_validate({"name": "t", "command": ["t.py"], "time": "1h"}, strict=False)
    (finding,) = check_job_against(job, cluster)
    assert "gpu" in finding.fix
    assert "all" in finding.fix


def test_the_host_of_commands_is_the_login_host(learned):
    """By its own name on that host, by the name that ssh was given from elsewhere."""
    assert learned().control.name == "login1"
    assert learned(login="login.example.org").control.name == "login.example.org"


def test_slurm_without_nodes_is_an_error(learned):
    """An account that sees no partition gets an error, no empty cluster."""
    with pytest.raises(WrightError, match="lists no nodes"):
        learned(partitions="")


@pytest.mark.parametrize(
    ("addresses", "network"),
    [(["10.1.0.9", "10.1.3.4"], "10.1.0.0/22"), (["192.168.7.7"], "192.168.7.7/32"), ([], "0.0.0.0/0"),
     (["10.0.0.1", "11.0.0.1"], "10.0.0.0/7")],
)  # fmt: skip
def test_agents_use_the_network_of_the_nodes(addresses, network):
    """The smallest network with the addresses of all nodes."""
    assert covering([IPv4Address(address) for address in addresses]) == ip_network(network)
