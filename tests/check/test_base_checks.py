"""Checks of the base system: clocks of CPUs, swap, huge pages."""

import pytest

from clusterwright.check.checks.cpu_governor import cpu_governor
from clusterwright.check.checks.hugepages_reserved import hugepages_reserved
from clusterwright.check.checks.swap_off import swap_off
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.memory import Memory
from clusterwright.check.facts.swaps import Swaps
from clusterwright.check.verdict import Status
from clusterwright.config.load import load_cluster
from clusterwright.units import GiB

LAB = "examples/lab/cluster.yaml"


@pytest.fixture
def want(tmp_path, pytestconfig):
    """A compute host of the example outside of a lab, with these lines in `system`."""

    def make(system="{}"):
        text = (pytestconfig.rootpath / LAB).read_text().partition("\n# This section makes")[0]
        (tmp_path / "cluster.yaml").write_text(f"{text}\nsystem: {system}\n")
        cluster = load_cluster(tmp_path / "cluster.yaml")
        return HostSpec(cluster, cluster.host("gpu-node1"))

    return make


@pytest.mark.parametrize(
    ("have", "status"),
    [
        ({"performance": 64}, Status.OK),
        ({"performance": 2, "powersave": 62}, Status.WARN),
        ({}, Status.SKIPPED),
    ],
)
def test_a_governor_that_is_not_there_is_not_green(want, have, status):
    """A virtual machine has none: skipped, not ok."""
    assert cpu_governor.judge(want(), have).status is status


def test_a_site_that_leaves_governors_alone_is_not_told_off(want):
    """Skipped before it is asked."""
    assert cpu_governor.unless(want("{governor: as-is}"))
    assert not cpu_governor.unless(want())


def test_swap_is_named_with_where_it_comes_from(want):
    """The device in use and the line that brings it back at the next boot."""
    found = swap_off.judge(want(), Memory(64 * GiB, 8 * GiB, 0), Swaps(("/dev/zram0",), ("/dev/sda3",)))

    assert found.status is Status.WARN
    assert found.observed == "8 GiB of swap (active: /dev/zram0; in /etc/fstab: /dev/sda3)"
    assert swap_off.judge(want(), Memory(64 * GiB, 0, 0), Swaps((), ("/dev/sda3",))).status is Status.OK
    assert (
        swap_off.judge(want("{swap: true}"), Memory(64 * GiB, GiB, 0), Swaps((), ())).status is Status.SKIPPED
    )


@pytest.mark.parametrize(
    ("huge", "status"), [(4 * GiB, Status.OK), (4 * GiB - 1, Status.FAIL), (0, Status.FAIL)]
)
def test_fewer_huge_pages_than_asked_are_a_fault(want, huge, status):
    """The kernel takes what it finds whole, and says nothing."""
    asked = want("{hugepages: 4GiB}")

    assert hugepages_reserved.when(asked)
    assert hugepages_reserved.judge(asked, Memory(16 * GiB, 0, huge)).status is status
    assert not hugepages_reserved.when(want())
