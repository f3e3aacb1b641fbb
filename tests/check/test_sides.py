"""Whether a host or the cluster file is wrong."""

import pytest

from clusterwright.check.judging import sided
from clusterwright.check.registry import choose
from clusterwright.check.verdict import Status, Verdict

(MEMORY,) = choose(["memory_present"])
(LINKS,) = choose(["link_speed"])
(SWAP,) = choose(["swap_off"])
HOSTS = [f"gpu-node{index}" for index in range(1, 5)]


def said(host, status=Status.FAIL, saw="256 GiB", part=""):
    """One verdict with the check's own fix."""
    return Verdict(host, "", status, saw, "512 GiB", "see the modules", part)


def fixes(cluster, verdicts, check=MEMORY):
    """What is to be done about each."""
    return [verdict.fix for verdict in sided(check, cluster, verdicts)]


def test_where_all_hosts_of_a_group_are_alike_the_field_of_the_file_is_named(cluster):
    """What the check itself says comes after it."""
    found = fixes(cluster, [said(host) for host in HOSTS])

    assert set(found) == {
        (
            "all 4 hosts of `a100` have this: if the hardware is right, correct `nodes.a100.memory`; "
            "else see the modules"
        )
    }


@pytest.mark.parametrize(
    "last",
    [said(HOSTS[3], Status.OK), said(HOSTS[3], saw="128 GiB"), said(HOSTS[3], Status.WARN)],
    ids=["well", "otherwise", "warns"],
)
def test_one_host_that_differs_acquits_the_file(cluster, last):
    """The file is right of at least one of them, or they are wrong in several ways."""
    assert set(fixes(cluster, [*(said(host) for host in HOSTS[:3]), last])) == {"see the modules"}


def test_a_host_that_was_not_seen_says_nothing_for_either_side(cluster):
    """Three of four that could be seen are all that could be seen."""
    blind = said(HOSTS[3], Status.UNKNOWN, "not reached")
    found = fixes(cluster, [*(said(host) for host in HOSTS[:3]), blind])

    assert all(fix.startswith("all 3 hosts") for fix in found[:3])
    assert found[3] == "see the modules"


def test_one_host_alone_proves_nothing(cluster):
    """The control host is the only one of its group."""
    assert fixes(cluster, [said("control")]) == ["see the modules"]


def test_a_part_is_put_into_the_name_of_the_field(cluster):
    """Of one network, not of the other."""
    slow = [said(host, part="compute") for host in HOSTS]
    well = [said(host, Status.OK, part="storage") for host in HOSTS]
    found = fixes(cluster, [*slow, *well], LINKS)

    assert all("`networks.compute.rate`" in fix for fix in found[:4])
    assert set(found[4:]) == {"see the modules"}


def test_what_the_file_says_nothing_of_is_the_hosts_alone(cluster):
    """Swap is not declared host by host."""
    assert set(fixes(cluster, [said(host) for host in HOSTS], SWAP)) == {"see the modules"}
