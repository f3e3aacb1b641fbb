"""What is written into a host."""

import subprocess

from clusterwright.lab import host


def test_the_boot_script_is_a_shell_script_with_every_gpu():
    """Each device file has a number of its own, so that control groups can tell them apart."""
    text = host.boot_script(["/dev/nvidia0", "/dev/nvidia1"], rdma=True)

    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0
    assert "mknod -m 666 /dev/nvidia1 c 120 1" in text
    assert "mknod" not in host.boot_script([])


def test_a_machine_name_fits_whatever_the_names_are():
    """HOST_NAME_MAX is 64."""
    assert host.machine_name("lab", "gpu-node1") == "lab-gpu-node1"
    assert len(host.machine_name("l" * 63, "h" * 63)) <= 64
