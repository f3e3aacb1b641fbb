"""What goes wrong on most hosts of a leaf switch is told of the switch."""

from pathlib import Path

import pytest

from clusterwright.check.checks.leaf_switches import leaf_switches
from clusterwright.check.facts.addresses import Interface
from clusterwright.check.facts.link_counters import GrownCounter
from clusterwright.check.judging import judge
from clusterwright.check.reading import HostReach, Reading
from clusterwright.config.load import load_cluster

EXAMPLE = Path(__file__).parents[2] / "examples/lab/cluster.yaml"


@pytest.fixture
def told():
    """`told({counter: grown}, ...)`, of one host after another: part, fix and words of what is not well."""
    cluster = load_cluster(EXAMPLE)
    hosts = cluster.hosts("compute")

    def of(*grown):
        readings = {
            host.name: Reading(
                HostReach(),
                {
                    "link_counters": GrownCounter(60, {"mlx5_0/1": counters, "compute": {}}),
                    "addresses": {str(host.addresses["compute"]): Interface("compute", True, 1500)},
                },
            )
            for host, counters in zip(hosts, grown, strict=True)
        }
        return [(v.part, v.status.value, v.fix) for v in judge(cluster, [leaf_switches], readings) if v.part]

    return of


def test_links_that_go_down_on_most_hosts_are_their_switch(told):
    """Three of four; the cables of three hosts do not come loose in one hour."""
    ((part, status, fix),) = told(*[{"link_downed": 1}] * 3, {})

    assert (part, status) == ("switch leaf1", "fail")
    assert "instead of each cable" in fix


def test_packets_that_are_thrown_away_on_most_hosts_are_the_uplinks(told):
    """More than goes up from the leaf: nobody's own cable."""
    ((part, status, fix),) = told(*[{"port_xmit_discards": 60_000}] * 4)

    assert (part, status) == ("uplinks of switch leaf1", "warn")
    assert "uplinks of switch leaf1" in fix


@pytest.mark.parametrize(
    "grown",
    [
        [{}, {}, {}, {}],
        [{"link_downed": 1}, {"link_downed": 1}, {}, {}],
        [{"link_downed": 1}, {"symbol_error": 500}, {"port_rcv_errors": 5000}, {}],
    ],
    ids=["well", "half_of_them", "each_another"],
)
def test_a_few_bad_cables_are_no_switch(told, grown):
    """They are told host by host, by link_errors."""
    assert told(*grown) == []
