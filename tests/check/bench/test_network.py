"""Pairs measured on a model of links: the host or the way that is slow is named, and nothing else."""

import json
import time

import pytest

from clusterwright.check.bench.kinds.network import expectation, network, streams_for
from clusterwright.check.bench.links import Passes, verdicts
from clusterwright.check.bench.stage import StageAnswer
from clusterwright.check.verdict import Status

LINE = 125e6 * 0.941


def links(cluster, rate, *, astray=(), broken=()):
    """Answers of pairs; `rate(source, target, times measured)` in bytes/s; `broken` sets of hosts get no answer."""
    names = {str(host.addresses["compute"]): host.name for host in cluster.hosts("compute")}
    seen = {}

    def answer(host, part, _asked, stage):
        given = part.given
        if given["role"] == "server":
            return StageAnswer(0, "", "")
        server = names[given["address"]]
        if server in stage.lost:
            return StageAnswer(1, "", "ConnectionRefusedError: [Errno 111]")
        pair = frozenset((host, server))
        seen[pair] = times = seen.get(pair, 0) + 1
        if any(ends <= {host, server} for ends in broken):
            return StageAnswer(1, "", "", "overran its 24 s")
        remote = "10.77.0.99" if (host, server) in astray else given["address"]
        connected = [{"local_host": given["own"], "remote_host": remote}]

        def way(source, target):
            bits = 8 * rate(source, target, times)
            return {"tool": "iperf3", "error": None, "end": {"sum_received": {"bits_per_second": bits}}} | {
                "connected": connected
            }

        return StageAnswer(0, json.dumps({"there": way(host, server), "back": way(server, host)}), "")

    return answer


def statuses(outcome):
    """By subject."""
    return {verdict.subject: verdict.status.value for verdict in outcome.verdicts}


ALL_WELL = {f"gpu-node{index}": "ok" for index in range(1, 5)}


def test_a_clean_network_is_all_well(site, cluster):
    """One verdict for each host, twelve measurements, three rounds, nothing measured again."""
    outcome = network(made := site(links(cluster, lambda *_: LINE)))

    assert statuses(outcome) == ALL_WELL
    assert len(outcome.measurements) == 12
    assert len(made.stage.orders) == 3
    assert outcome.notes == ()
    assert outcome.measurements[0].conditions["transport"] == "tcp on compute"


@pytest.mark.parametrize("bad", ["gpu-node1", "gpu-node4"])
def test_a_host_with_a_slow_port_is_named_alone(site, cluster, bad):
    """Its partners are as fast as with their best others; it was measured twice."""
    outcome = network(site(links(cluster, lambda a, b, _: LINE / 2 if bad in (a, b) else LINE)))

    assert statuses(outcome) == ALL_WELL | {bad: "fail"}
    (failed,) = [verdict for verdict in outcome.verdicts if verdict.status is Status.FAIL]
    assert "best of 2" in failed.observed
    assert "networks.compute.rate 100Gbit/s / lab.rate_divisor 100" in failed.expected


def test_one_direction_is_enough(site, cluster):
    """A port that sends well and receives slowly."""
    outcome = network(site(links(cluster, lambda _, b, __: LINE / 3 if b == "gpu-node2" else LINE)))

    assert statuses(outcome) == ALL_WELL | {"gpu-node2": "fail"}
    assert next(v.part for v in outcome.verdicts if v.subject == "gpu-node2") == "receiving"


def test_a_slow_way_between_two_good_hosts_is_named_as_such(site, cluster):
    """Both do well with others."""
    slow = {"gpu-node2", "gpu-node3"}
    outcome = network(site(links(cluster, lambda a, b, _: LINE / 2 if {a, b} == slow else LINE)))

    assert statuses(outcome) == ALL_WELL | {"gpu-node2>gpu-node3": "fail", "gpu-node3>gpu-node2": "fail"}


def test_a_disturbance_that_does_not_come_again_is_no_fault(site, cluster):
    """Slow once, well when measured again."""
    slow = lambda a, b, times: LINE / 2 if "gpu-node1" in (a, b) and times == 1 else LINE
    outcome = network(made := site(links(cluster, slow)))

    assert statuses(outcome) == ALL_WELL
    assert len(made.stage.orders) > 3


def test_where_all_are_slow_nobody_is_blamed(site, cluster):
    """Something that they share, or the declared rate."""
    outcome = network(site(links(cluster, lambda *_: LINE / 2)))

    assert statuses(outcome) == dict.fromkeys(ALL_WELL, "warn")


def test_of_two_hosts_nobody_can_say_which(site, cluster):
    """A warning on both."""
    hosts = ["gpu-node1", "gpu-node2"]
    outcome = network(site(links(cluster, lambda *_: LINE / 2), hosts=hosts))

    assert statuses(outcome) == dict.fromkeys(hosts, "warn")


def test_a_host_that_dies_on_the_way_does_not_take_others_along(site, cluster):
    """They are judged by what they measured with each other; it is lost after the first order."""
    outcome = network(made := site(links(cluster, lambda *_: LINE), dies={"gpu-node4": 2}))

    assert {host: status for host, status in statuses(outcome).items() if host != "gpu-node4"} == {
        host: "ok" for host in ALL_WELL if host != "gpu-node4"
    }
    assert [*made.stage.lost] == ["gpu-node4"]


def test_a_host_that_no_pair_reaches_fails_though_it_answers(site, cluster):
    """Its link is cut on this network alone; its partners are judged by the others."""
    outcome = network(site(links(cluster, lambda *_: LINE, broken=[{"gpu-node2"}])))

    assert statuses(outcome) == ALL_WELL | {"gpu-node2": "fail"}
    (failed,) = [each for each in outcome.verdicts if each.status is Status.FAIL]
    assert failed.observed == "no pair with this host could be measured: overran its 24 s"


def test_a_way_that_fails_twice_is_named(site, cluster):
    """Both ends do well with others."""
    outcome = network(site(links(cluster, lambda *_: LINE, broken=[{"gpu-node1", "gpu-node3"}])))

    (failed,) = [each for each in outcome.verdicts if each.status is Status.FAIL]
    assert {*failed.subject.split(">")} == {"gpu-node1", "gpu-node3"}
    assert failed.part == "way"


def test_where_nothing_can_be_measured_all_is_unknown(site, cluster):
    """A closed port on all hosts is nobody's fault alone."""
    outcome = network(site(links(cluster, lambda *_: LINE, broken=[set()])))

    assert statuses(outcome) == dict.fromkeys(ALL_WELL, "unknown")


def test_without_iperf3_a_stream_of_our_own_is_taken_and_said(site, cluster):
    """On all hosts, so that figures are of one kind."""
    outcome = network(made := site(links(cluster, lambda *_: LINE), tools={"iperf3": ""}))

    assert {part.given["tool"] for order in made.stage.orders for part in order.values()} == {"tcp"}
    assert outcome.notes[0].startswith("iperf3 is not installed on gpu-node1, ")


def test_bytes_on_another_network_are_told_of(site, cluster):
    """The figure is kept with what carried it."""
    outcome = network(site(links(cluster, lambda *_: LINE, astray={("gpu-node4", "gpu-node1")})))

    assert any(
        "used 10.77.0.99 in place of an interface of network compute" in note for note in outcome.notes
    )


def test_what_is_expected_says_how_it_was_worked_out(site, cluster):
    """Rate, divisor of the lab, headers in the packets."""
    want = expectation(site(links(cluster, lambda *_: LINE)))

    assert want.value == pytest.approx(1e9 / 8 * 1448 / 1538)
    assert want.least == pytest.approx(0.8 * want.value)


@pytest.mark.parametrize(("rate", "streams"), [(1e9, 1), (25e9, 3), (400e9, 8)])
def test_a_fast_line_takes_several_streams(rate, streams):
    """One fills about 10 Gbit/s."""
    assert streams_for(rate) == streams


def test_two_hundred_hosts_are_judged_within_seconds():
    """Forty thousand directions of which a fifth are slow: no step is repeated for each of them."""
    hosts = [f"n{index}" for index in range(200)]
    speeds = {
        (a, b): LINE / 2 if (index + place) % 5 == 0 else LINE
        for index, a in enumerate(hosts)
        for place, b in enumerate(hosts)
        if a != b
    }
    began = time.process_time()
    found = verdicts(Passes((speeds,)), None, "compute")

    assert time.process_time() - began < 10
    assert len([each for each in found if each.status is Status.OK]) == 200
    assert len(found) - 200 == sum(rate < LINE for rate in speeds.values())
