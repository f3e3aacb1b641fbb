"""What is measured on a host, through a real shell, with files in the place of the kernel's."""

import subprocess

import pytest

from clusterwright.diagnose.gather import measure
from clusterwright.diagnose.gather.ended import sources_of
from clusterwright.diagnose.gather.sections import sections
from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import read

PART = 'part() { echo "@@ $1"; shift; "$@" 2>/dev/null; }\n'


def diagnoses(tmp_path, ports):
    """Modes of what the ports of a host show; `ports`: state and physical state by name."""
    for name, (state, physical) in ports.items():
        folder = tmp_path / "infiniband" / name / "ports" / "1"
        folder.mkdir(parents=True)
        fields = {
            "state": state,
            "phys_state": physical,
            "rate": "100 Gb/sec (4X EDR)",
            "link_layer": "InfiniBand",
        }
        for field, value in fields.items():
            (folder / field).write_text(f"{value}\n")
    script = PART + measure.PORTS.replace("/sys/class", str(tmp_path))
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    found = judge(read(list(sources_of({"gpu-1": sections(done.stdout)})), knowledge()))
    return sorted(each.mode for each in found)


UP, DOWN, INIT = ("4: ACTIVE", "5: LinkUp"), ("1: DOWN", "2: Polling"), ("2: INIT", "5: LinkUp")


@pytest.mark.parametrize(
    ("ports", "modes"),
    [
        ({"mlx5_0": UP}, ["normal"]),
        ({"mlx5_0": DOWN}, ["network-connectivity/port-no-link"]),
        ({"mlx5_0": INIT}, ["rdma-config/no-subnet-manager"]),
        ({"mlx5_0": UP, "mlx5_1": DOWN}, ["normal"]),
        ({"mlx5_0": UP, "mlx5_1": INIT}, ["normal", "rdma-config/no-subnet-manager"]),
        ({}, []),
    ],
    ids=["active", "no link", "no subnet manager", "unused port", "one of two", "none"],
)
def test_the_ports_of_a_host_are_judged(tmp_path, ports, modes):
    """A host without RDMA has none, and a second port without a cable is no fault of a host in service."""
    assert diagnoses(tmp_path, ports) == modes


def test_the_log_of_the_bmc_is_read_for_today_and_yesterday(tmp_path, monkeypatch):
    """Older events are left out, and a host without a BMC has none."""
    event = "Fan FAN1 | Lower Critical going low | Asserted | Reading 120 < Threshold 1200 RPM"
    tool = tmp_path / "ipmitool"
    tool.write_text(
        f'#!/bin/sh\necho " 1 | 01/02/2020 | 10:00:00 | {event}"\necho " 2 | $(date +%D) | 10:00:00 | {event}"\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = []
    for device in (tmp_path / "none", tool):
        script = PART + measure.HEAT.replace("/dev/ipmi0", str(device))
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, timeout=30)
        found.append(judge(read(list(sources_of({"gpu-1": sections(done.stdout)})), knowledge())))

    assert found[0] == []
    assert found[1][0].mode == "other/bmc-fan"
    assert ", 1 time, 120 RPM" in found[1][0].cause
