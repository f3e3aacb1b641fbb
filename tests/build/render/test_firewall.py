"""The firewall: open to the cluster for what it serves, shut to the rest."""

import os
import shutil
import subprocess

import pytest

from clusterwright.build.render.firewall import firewall

HEADER = "# header\n"


@pytest.fixture
def rules(cluster):
    """The rules of a host, by name."""
    return lambda host, of=cluster: firewall(of, of.host(host), HEADER)


@pytest.mark.skipif(not shutil.which("nft") or os.getuid() != 0, reason="needs root and nft")
@pytest.mark.parametrize("host", ["control", "gpu-node1"])
def test_nft_takes_it(rules, host, tmp_path):
    """Nft's own check, which changes nothing."""
    (tmp_path / "rules.nft").write_text(rules(host))

    done = subprocess.run(
        ["nft", "-c", "-f", tmp_path / "rules.nft"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_not_named_is_dropped(rules):
    """The policy, not a last rule that could be missed."""
    assert "hook input priority filter; policy drop;" in rules("gpu-node1")


def test_neighbouring_addresses_are_one_range(rules):
    """1,024 hosts on three networks stay three ranges."""
    assert "10.77.0.10-10.77.0.14, 10.77.1.11-10.77.1.14, 10.77.2.10-10.77.2.14" in rules("control")


def test_only_compute_hosts_are_open_to_each_other(rules):
    """Gloo and NCCL take any port, so trainings need all of them; the control host needs none."""
    assert "ip saddr @compute accept" in rules("gpu-node1")
    assert "ip saddr @compute accept" not in rules("control")


@pytest.mark.parametrize(
    ("host", "port"), [("control", "6817"), ("control", "udp dport 123"), ("gpu-node1", "6818")]
)
def test_the_daemons_of_a_role_are_reached(rules, host, port):
    """Slurmctld and time on the control host, slurmd on the others."""
    assert any(port in line and "@cluster" in line for line in rules(host).splitlines())


def test_ssh_stays_open_on_the_port_of_the_file(rules, altered):
    """Or an apply would be the last."""
    assert "ip daddr 10.77.0.11 tcp dport 2222 accept" in rules(
        "gpu-node1", altered({"ssh.port": 2222, "lab": None})
    )


def test_an_nfs_server_serves(rules, altered):
    """Port 2049 on the host that the file names, and on no other."""
    nfs = altered({"storage.shared": {"kind": "nfs", "path": "/shared", "server": "control"}, "lab": None})

    assert "dport 2049" in rules("control", nfs)
    assert "dport 2049" not in rules("gpu-node1", nfs)
