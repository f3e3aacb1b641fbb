"""Firewall and SELinux as the file says, for the distributions and programs that the recorded lab has not."""

import pytest

from clusterwright.check.checks.firewall_on import firewall_on
from clusterwright.check.checks.selinux_as_declared import selinux_as_declared
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.firewall_rules import Chain
from clusterwright.check.facts.selinux import Selinux
from clusterwright.check.verdict import Status

NFT, FIREWALLD = Chain("clusterwright", "drop", 10), Chain("firewalld", "reject", 7)


def want(cluster, **changes):
    """What is wanted of a compute host, with other values of `os` or `security`."""
    security = cluster.security.model_copy(update={k: v for k, v in changes.items() if k != "os"})
    other = cluster.model_copy(
        update={"security": security} | ({"os": changes["os"]} if "os" in changes else {})
    )
    return HostSpec(other, cluster.host("gpu-node1"))


@pytest.mark.parametrize(
    ("program", "have", "status"),
    [
        ("nftables", (NFT,), Status.OK),
        ("firewalld", (FIREWALLD,), Status.OK),
        ("nftables", (FIREWALLD,), Status.FAIL),
        ("firewalld", (NFT,), Status.FAIL),
        ("nftables", (NFT, FIREWALLD), Status.FAIL),
        ("firewalld", (Chain("firewalld", "accept", 7),), Status.FAIL),
        ("nftables", (NFT, Chain("nat", "accept", 1)), Status.OK),
        ("nftables", (), Status.FAIL),
    ],
)
def test_one_program_holds_the_firewall(cluster, program, have, status):
    """The one of the file, and it refuses; tables of containers and the like are not judged."""
    assert firewall_on.judge(want(cluster, firewall_program=program), have).status is status


@pytest.mark.parametrize(
    ("said", "have", "status"),
    [
        ("enforcing", Selinux("enforcing", "enforcing"), Status.OK),
        ("enforcing", Selinux("permissive", "enforcing"), Status.FAIL),
        ("enforcing", Selinux("enforcing", "permissive"), Status.FAIL),
        ("enforcing", Selinux("disabled", "disabled"), Status.FAIL),
        ("permissive", Selinux("permissive", "permissive"), Status.OK),
    ],
)
def test_selinux_is_as_the_file_says_now_and_after_a_boot(cluster, said, have, status):
    """A setenforce by hand is found, and so is a file that was edited for the next boot."""
    assert selinux_as_declared.judge(want(cluster, os="rocky-9", selinux=said), have).status is status


def test_where_there_is_no_selinux_it_is_skipped(cluster):
    """With the reason; not green."""
    assert selinux_as_declared.unless(want(cluster, os="ubuntu-22.04")) == "ubuntu-22.04 does not use SELinux"
    assert selinux_as_declared.unless(want(cluster, os="alma-8")) == ""
