"""slurm.conf: what jobs can ask for, and what every Slurm must be able to read."""

import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from clusterwright.build.render.slurm_conf import slurm_conf
from clusterwright.build.render.slurm_nodes import usable_memory_mib
from clusterwright.build.render.topology import kind_of

HEADER = "# header\n"
EXPECTED = re.compile(r"mpi|state (save )?file|may be lost")  # Debian's pmix plugin, not used; a first start


def value(text, key):
    """The value of a key, wherever it stands."""
    return next(word.split("=", 1)[1] for word in text.split() if word.startswith(f"{key}="))


def test_memory_leaves_room_for_kernel_and_firmware(cluster):
    """16 GiB: 31/32 of it are 15872 MiB; a host that finds less is drained."""
    assert usable_memory_mib(cluster.nodes["a100"]) == 15872


def test_a_gpu_brings_its_share_of_memory(cluster):
    """(15872 - 1024) MiB over 4 GPUs and over 16 CPUs."""
    text = slurm_conf(cluster, HEADER)

    assert (value(text, "DefMemPerGPU"), value(text, "DefMemPerCPU")) == ("3712", "928")


def test_the_smallest_host_decides_the_share(altered):
    """A share that one host of the partition cannot give would keep jobs waiting for ever."""
    small = {
        "role": "compute",
        "hosts": "small1",
        "addresses": {"management": "10.77.0.20", "compute": "10.77.1.20"},
        "cpus": {"cores_per_socket": 4},
        "memory": "4GiB",
        "switch": "leaf1",
    }
    text = slurm_conf(altered({"nodes.small": small, "partitions.train.nodes": ["a100", "small"]}), HEADER)

    assert value(text, "DefMemPerCPU") == str((4096 * 31 // 32 - 1024) // 4)


def test_the_seconds_of_the_file_are_slurms(altered):
    """node_timeout and kill_wait as they were written."""
    text = slurm_conf(altered({"slurm.node_timeout": "90s", "slurm.kill_wait": "2m"}), HEADER)

    assert [value(text, key) for key in ("SlurmdTimeout", "KillWait", "UnkillableStepTimeout")] == [
        "90",
        "120",
        "240",
    ]


def test_only_a_lab_may_claim_what_it_has_not(cluster, real):
    """On real hosts a lost memory module must be noticed, and cores are bound."""
    assert "SlurmdParameters=config_overrides" in slurm_conf(cluster, HEADER)
    assert "config_overrides" not in slurm_conf(real, HEADER)
    assert value(slurm_conf(real, HEADER), "TaskPlugin") == "task/cgroup,task/affinity"


def test_a_host_without_a_switch_means_no_tree(altered):
    """Slurm never gives work to a host that hangs on no switch of topology.conf."""
    bare = altered({"nodes.a100.switch": None})

    assert kind_of(bare) == "none"
    assert "TopologyPlugin" not in slurm_conf(bare, HEADER)


def test_a_partition_for_some_teams_is_closed_to_others(altered):
    """Teams are Unix groups."""
    second = {"nodes": ["a100"], "teams": ["vision"]}
    text = slurm_conf(altered({"partitions.vision": second}), HEADER)

    assert value(text, "AllowGroups") == "vision"


@pytest.mark.slurm
@pytest.mark.skipif(not shutil.which("scontrol"), reason="scontrol is not installed")
@pytest.mark.parametrize(("extra", "code"), [("", 0), ("PrologTimeoutt=60\n", 1)])
def test_slurm_itself_parses_it(cluster, tmp_path, extra, code):
    """The command that guards the file on a host takes ours, and refuses a key that Slurm does not know."""
    (tmp_path / "slurm.conf").write_text(slurm_conf(cluster, HEADER) + extra)

    done = subprocess.run(
        ["scontrol", "show", "hostnames", "localhost"],
        env=os.environ | {"SLURM_CONF": str(tmp_path / "slurm.conf")},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == code, done.stderr


@pytest.mark.slurm
@pytest.mark.skipif(not shutil.which("slurmctld") or os.getuid() != 0, reason="needs root and slurmctld")
def test_a_real_slurmctld_starts_with_it(altered, tmp_path):
    """Every plugin named is there: a missing one ends slurmctld at once. With slurmdbd it starts in a lab's tests."""
    cluster = altered({"accounting": {"enabled": False}})
    log = tmp_path / "slurmctld.log"
    (tmp_path / "slurm.conf").write_text(scratch(slurm_conf(cluster, HEADER), tmp_path, log))
    (tmp_path / "topology.conf").write_text("SwitchName=leaf1 Nodes=gpu-node[1-4]\n")
    (tmp_path / "gres.conf").write_text("NodeName=gpu-node[1-4] Name=gpu Type=a100 Count=4\n")
    argv = ["slurmctld", "-D", "-c", "-f", str(tmp_path / "slurm.conf")]
    process = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < limit:
            if log.exists() and "Running as primary controller" in log.read_text():
                break
            time.sleep(0.05)
        assert process.poll() is None, log.read_text()
        assert "Running as primary controller" in log.read_text()
        errors = [line for line in log.read_text().splitlines() if "error: " in line]
        assert [line for line in errors if not EXPECTED.search(line)] == []
    finally:
        process.terminate()
        process.wait(timeout=10)


def scratch(text, folder, log):
    """The same file for a daemon of this test alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for old, new in (
        (
            "SlurmctldHost=control(10.77.0.10)",
            f"SlurmctldHost={socket.gethostname().split('.')[0]}(127.0.0.1)",
        ),
        ("SlurmUser=slurm", "SlurmUser=root"),
        ("SlurmctldPort=6817", f"SlurmctldPort={port}"),
        ("/var/spool/slurmctld", str(folder / "state")),
        ("/run/slurmctld.pid", str(folder / "pid")),
        ("/var/log/slurm/slurmctld.log", str(log)),
        ("/var/log/slurm/jobcomp.log", str(folder / "jobcomp.log")),
        ("auth/munge", "auth/none"),
        ("cred/munge", "cred/none"),
        ("NodeName=gpu-node[1-4]", "NodeName=gpu-node[1-4] NodeAddr=127.0.0.[2-5]"),
    ):
        assert old in text
        text = text.replace(old, new)
    (folder / "state").mkdir()
    return text
