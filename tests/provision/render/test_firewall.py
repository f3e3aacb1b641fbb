"""The firewall by nft: open to the cluster for what it serves, shut to the rest."""

import os
import shutil
import subprocess

import pytest

from clusterwright.provision.render.firewall import firewall

HEADER = "# header\n"


@pytest.fixture
def rules(cluster):
    """The rules of a host, by name."""
    return lambda host, of=cluster: firewall(of, of.host(host), HEADER)


@pytest.mark.skipif(not shutil.which("nft") or os.getuid() != 0, reason="needs root and nft")
@pytest.mark.parametrize("host", ["control", "gpu-node1"])
@pytest.mark.parametrize("ssh_from", [[], ["192.168.7.0/24", "10.77.0.0/24"]])
def test_nft_takes_it(rules, altered, host, ssh_from, tmp_path):
    """Nft's own check, which changes nothing; overlapping networks do not trouble it."""
    (tmp_path / "rules.nft").write_text(rules(host, altered({"security": {"ssh_from": ssh_from}})))

    done = subprocess.run(
        ["nft", "-c", "-f", tmp_path / "rules.nft"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_not_named_is_dropped(rules):
    """The policy, not a last rule that could be missed."""
    assert "hook input priority filter; policy drop;" in rules("gpu-node1")


def test_what_is_passed_on_is_not_touched(rules):
    """Bridges of containers and of virtual machines go on."""
    assert "hook forward" not in rules("control")


def test_a_rule_names_the_address_the_peers_and_the_service(rules):
    """So that a packet that comes by another network meets no rule."""
    assert 'ip daddr 10.77.0.11 ip saddr @hosts_management tcp dport 6818 accept comment "slurmd: ' in rules(
        "gpu-node1"
    )


def test_anyone_does_not_mean_the_other_networks(rules):
    """A host on the storage network finds no sshd."""
    assert "ip daddr 10.77.0.11 ip saddr != { 10.77.1.0/24, 10.77.2.0/24 } tcp dport 22 accept" in rules(
        "gpu-node1"
    )


def test_an_address_comes_by_the_port_of_its_network(rules):
    """Before any rule that would let it in."""
    text = rules("control")

    assert "ip saddr { 10.77.0.0/24, 10.77.2.0/24 } fib saddr . iif oif missing drop" in text
    assert text.index("fib saddr") < text.index("dport 22")
