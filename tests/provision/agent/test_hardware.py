"""What Slurm is told that a host has, against what is there: said before Slurm drains the host."""

import os

from clusterwright.onhost.provision import system
from clusterwright.onhost.provision.host import LocalHost

DEVICES = [f"/dev/nvidia{index}" for index in range(4)]


def notes(root, devices=(), memory_mib=0):
    """What is noted of a host with these devices under a root."""
    (root / "dev").mkdir()
    for name in devices:
        (root / name.lstrip("/")).touch()
    host = LocalHost({"root": str(root), "resources": []})
    wanted = {"devices": DEVICES, "memory_mib": memory_mib, "group": "a100"}

    assert system.check_hardware(host, wanted) is None
    return host.notes


def test_a_missing_device_file_is_named_with_what_slurm_would_do(tmp_path):
    """Pain 1: `gres/gpu count reported lower than configured` comes when the host is drained already."""
    (said,) = notes(tmp_path, DEVICES[:3])

    assert said.startswith("3 of 4 GPU device files exist, /dev/nvidia3 missing: Slurm drains")
    assert "nodes.a100.gpus" in said


def test_too_much_memory_in_the_file_is_named(tmp_path):
    """Pain 11: RealMemory above what the kernel has drains the host."""
    has = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    (said,) = notes(tmp_path, DEVICES, memory_mib=has + 1)

    assert said.startswith(f"the kernel has {has} MiB of memory, Slurm's configuration {has + 1} MiB")
    assert "nodes.a100.memory" in said


def test_a_host_that_has_all_of_it_is_not_spoken_of(tmp_path):
    """As much as declared is enough."""
    has = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20

    assert notes(tmp_path, DEVICES, memory_mib=has) == []
