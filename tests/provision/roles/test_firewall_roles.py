"""Which program holds the firewall, and how one takes over from the other."""

import pytest

from clusterwright.provision.render.firewall_program import firewall_program
from clusterwright.provision.roles import desired_resources

NAME = "unit:clusterwright-firewall.service"


@pytest.fixture
def by_id(given):
    """Resources of a host by id."""
    return lambda cluster: {
        resource.id: resource for resource in desired_resources(cluster, cluster.control, given)
    }


@pytest.mark.parametrize(
    ("os", "said", "program"),
    [
        ("debian-12", "auto", "nftables"),
        ("ubuntu-20.04", "auto", "nftables"),
        ("rocky-9", "auto", "firewalld"),
        ("alma-8", "auto", "firewalld"),
        ("rocky-9", "nftables", "nftables"),
        ("debian-12", "firewalld", "firewalld"),
    ],
)
def test_the_program_is_that_of_the_distribution_or_of_the_file(cluster, os, said, program):
    """Administrators find the one that they know."""
    security = cluster.security.model_copy(update={"firewall_program": said})
    other = cluster.model_copy(update={"os": os, "security": security})

    assert firewall_program(other) == program


def test_nftables_replaces_firewalld(by_id, cluster):
    """Both would have to let a packet in; it is stopped once our rules are loaded."""
    found = by_id(cluster)

    assert found[NAME].replaces == ("firewalld.service",)
    assert found[NAME].reload
    assert "unit:firewalld.service" not in found


def test_firewalld_removes_the_table_of_nftables_once_its_own_rules_are_loaded(by_id, altered):
    """In both ways that it can begin: a start, and a reload of what was the unit of nftables."""
    found = by_id(altered({"security": {"firewall_program": "firewalld"}}))
    lines = found["file:/etc/systemd/system/clusterwright-firewall.service"].content.splitlines()

    for verb in ("ExecStart", "ExecReload"):
        steps = [line.partition("=")[2] for line in lines if line.startswith(f"{verb}=")]
        assert steps == [
            "/usr/bin/firewall-cmd --quiet --reload",
            "-/usr/sbin/nft delete table inet clusterwright",
        ]
    assert "file:/etc/clusterwright/firewall.nft" not in found


def test_a_change_of_a_rule_is_a_reload(by_id, altered):
    """No connection is lost; every file is an input."""
    found = by_id(altered({"security": {"firewall_program": "firewalld"}}))
    files = {name for name in found if name.startswith("file:/etc/firewalld/")}

    assert files < set(found[NAME].restart_on)
    assert found[NAME].reload


def test_a_file_without_a_firewall_brings_none(by_id, altered):
    """Neither program, nor its files."""
    found = by_id(altered({"security": {"firewall": False}}))

    assert not [name for name in found if "firewall" in name]
