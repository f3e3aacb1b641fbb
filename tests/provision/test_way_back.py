"""Nobody locks the door with the key inside."""

import pytest

from clusterwright.config.field import Cost
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.carry import prevent_lockout
from clusterwright.provision.report import Change, HostReport

NFT, ZONE = "file:/etc/clusterwright/firewall.nft", "file:/etc/firewalld/zones/cw-management.xml"


def seen(change=NFT, **other):
    """A host that ssh reached, with one change to make."""
    facts = {"reached_at": "10.77.0.11", "reached_port": "22", "ssh_source": "192.168.7.7"} | other
    return HostReport(
        "gpu-node1", changes=(Change(change, "create", "", Cost.LIVE, (Verb.CREATE,), False),), **facts
    )


@pytest.mark.parametrize("change", [NFT, ZONE])
@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({}, ""),
        ({"reached_at": "10.77.1.11"}, "another address of the host"),
        ({"reached_at": "203.0.113.9"}, "which the cluster file does not list"),
        ({"reached_port": "2222"}, "Set ssh.port to 2222"),
        ({"ssh_source": "10.77.2.9"}, "Add that network to security.ssh_from"),
    ],
)
def test_rules_that_shut_us_out_are_refused(cluster, change, facts, says):
    """By address, port or source, for both programs; with the fix."""
    error = prevent_lockout(cluster, seen(change, **facts)).error

    assert bool(error) == bool(says)
    assert says in error


@pytest.mark.parametrize(
    ("source", "refused"), [("192.168.7.7", True), ("192.168.9.1", False), ("10.77.0.10", False)]
)
def test_ssh_from_counts(altered, source, refused):
    """A network that the file leaves out is one that we had better not come from."""
    cluster = altered({"security": {"ssh_from": ["192.168.9.0/24"]}})

    assert bool(prevent_lockout(cluster, seen(ssh_source=source)).error) is refused


def test_another_change_is_no_matter(cluster):
    """Rules that are already in force let us in just now."""
    assert prevent_lockout(cluster, seen("file:/etc/hosts", ssh_source="10.77.2.9")).error == ""
