"""slurm.conf: what jobs can ask for, and what every Slurm must be able to read."""

import os
import shutil
import subprocess

import pytest

from clusterwright.provision.render.slurm_conf import slurm_conf
from clusterwright.provision.render.topology import kind_of

HEADER = "# header\n"


def value(text, key):
    """The value of a key, wherever it stands."""
    return next(word.split("=", 1)[1] for word in text.split() if word.startswith(f"{key}="))


def test_memory_leaves_room_for_kernel_and_firmware(cluster):
    """16 GiB: 31/32 of it are 15872 MiB; a host that finds less is drained."""
    assert cluster.nodes["a100"].usable_memory_mib == 15872


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
        timeout=150,
    )
    assert done.returncode == code, done.stderr
