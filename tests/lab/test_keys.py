"""Keys, known_hosts and ssh_config, as ssh itself reads them."""

import subprocess
from pathlib import Path

from clusterwright.lab import keys


def test_ssh_reads_the_configuration_as_meant(planned, tmp_path):
    """`ssh -G` prints what it would do."""
    path = tmp_path / "ssh_config"
    path.write_text(keys.ssh_config(planned, tmp_path, Path("/run/x")))
    out = subprocess.run(
        ["ssh", "-F", path, "-G", "gpu-node1"], capture_output=True, text=True, check=True
    ).stdout
    said = dict(line.split(" ", 1) for line in out.splitlines())

    assert said["hostname"] == "10.231.0.11"
    assert said["user"] == "root"
    assert said["stricthostkeychecking"] == "true"
    assert said["userknownhostsfile"] == f"{tmp_path}/known_hosts"
    assert said["controlpath"] == "/run/x/10.231.0.11-22-root"


def test_a_host_is_known_by_its_name_and_every_address(planned, tmp_path):
    """`ssh-keygen -F` looks it up."""
    public = {host.name: keys.make_key(tmp_path / host.name, host.name) for host in planned.hosts}
    known = tmp_path / "known_hosts"
    known.write_text(keys.known_hosts(planned, public))

    for name in ("gpu-node2", "10.231.0.12", "10.231.1.12"):
        found = subprocess.run(
            ["ssh-keygen", "-F", name, "-f", known], capture_output=True, text=True, check=True
        )
        assert public["gpu-node2"].split()[1] in found.stdout
    assert (tmp_path / "control").stat().st_mode & 0o77 == 0
