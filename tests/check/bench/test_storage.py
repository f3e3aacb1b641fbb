"""Storage on models of hosts, servers and disks: a slow server, one host's way to it, and one disk are told apart."""

import json
from math import log2
from pathlib import Path

import pytest

from clusterwright.check.bench.kinds.storage import storage
from clusterwright.check.bench.site import BenchSite
from clusterwright.check.bench.stage import StageAnswer
from clusterwright.config.load import load_cluster

EXAMPLE = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
HOSTS = [f"gpu-node{index}" for index in range(1, 9)]
GB = 1e9


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    """The example lab with eight compute hosts, each with a local disk."""
    file = tmp_path_factory.mktemp("storage") / "cluster.yaml"
    text = EXAMPLE.read_text().replace("gpu-node[1-4]", "gpu-node[1-8]")
    file.write_text(text.replace("    # disks:", "    disks:"))
    return load_cluster(file)


@pytest.fixture
def measured(eight, stage):
    """`measured(shared, local)`: rates in bytes/s of a host, given those that measure at the same time."""

    def run(shared=lambda _host, _all: GB, local=lambda _host: GB):
        def answer(host, part, asked, _stage):
            at_shared = part.given["folder"].startswith("/shared")
            return said(shared(host, [*asked]) if at_shared else local(host))

        made = stage(HOSTS, answer)
        facts = {host: {"tools": {"fio": "/usr/bin/fio"}} for host in HOSTS}
        return storage(BenchSite(eight, made, facts)), made.orders

    return run


def said(rate, share=1.0):
    """What `disks.py` prints where everything goes at that rate, and random reads at a share of it."""
    half = {"bw_bytes": rate, "bw": rate / 1024, "iops": rate / 1e3 * share, "clat_ns": {"mean": 1e6}}
    none = {"bw_bytes": 0, "bw": 0, "iops": 0, "clat_ns": {"mean": 0}}
    jobs = {"write": (none, half), "read": (half, none), "random read": (half, none)}
    fio = {
        name: {"direct": True, "out": json.dumps({"jobs": [{"error": 0, "read": read, "write": write}]})}
        for name, (read, write) in jobs.items()
    }
    return StageAnswer(0, json.dumps({"fio": fio, "files": {"made": 500.0}}), "")


def told(outcome, status):
    """Subject and part of the verdicts of that status."""
    return {(each.subject, each.part) for each in outcome.verdicts if each.status == status}


def test_equal_hosts_and_disks_are_well_in_one_round_each(measured):
    """One more with one host alone, to know what the server gives one."""
    outcome, orders = measured()

    assert {each.status.value for each in outcome.verdicts} == {"ok"}
    assert [len(order) for order in orders] == [8, 1, 8]
    assert {(each.subject, each.part) for each in outcome.verdicts} >= {("gpu-node[1-8]", "/shared")}
    assert {each.part for each in outcome.verdicts if each.subject == "gpu-node1"} >= {"/scratch"}


@pytest.mark.parametrize("bad", HOSTS)
def test_one_hosts_slow_way_to_the_server_is_found_in_few_rounds(measured, bad):
    """By halving, beside hosts known to be good; the rounds are told."""
    outcome, orders = measured(shared=lambda host, _all: GB / 10 if host == bad else GB)

    assert told(outcome, "fail") == {(bad, "/shared")}
    rounds = sum(next(iter(order.values())).given["folder"].startswith("/shared") for order in orders)
    assert rounds <= log2(8) + 2
    assert f"/shared: {rounds} rounds, 8 hosts" in outcome.notes


def test_a_server_that_many_make_slow_is_no_hosts_fault(measured):
    """All have alike, and together a quarter of what one has by itself."""
    outcome, _orders = measured(shared=lambda _host, all_: GB if len(all_) == 1 else GB / 32)

    assert told(outcome, "fail") == set()
    assert told(outcome, "warn") == {("gpu-node[1-8]", "/shared")}
    (verdict,) = [each for each in outcome.verdicts if each.status == "warn"]
    assert "slow for all" in verdict.observed
    assert "check the file server" in verdict.fix


def test_a_server_that_all_share_fairly_is_well(measured):
    """Eight have an eighth each."""
    outcome, _orders = measured(shared=lambda _host, all_: GB / len(all_))

    assert {each.status.value for each in outcome.verdicts} == {"ok"}


@pytest.mark.parametrize("bad", HOSTS)
def test_a_slow_local_disk_is_named_with_its_path_after_two_rounds(measured, bad):
    """All are measured again, as they may all have changed meanwhile; the shared folder has nothing to do with it."""
    outcome, orders = measured(local=lambda host: GB / 20 if host == bad else GB)

    assert told(outcome, "fail") == {(bad, "/scratch")}
    assert [[*order] for order in orders[2:]] == [HOSTS, HOSTS]
    assert "/scratch: 2 rounds, 8 hosts" in outcome.notes


def test_hosts_of_one_machine_that_differ_by_factors_are_not_at_fault(measured):
    """As in a lab under load: far from the median, and no further than the others are."""
    rates = dict(zip(HOSTS, (0.2, 0.4, 0.7, 1.0, 1.1, 1.8, 3.0, 5.0), strict=True))
    outcome, _orders = measured(lambda host, _all: GB * rates[host], lambda host: GB * rates[host])

    assert told(outcome, "fail") == set()
    assert not [note for note in outcome.notes if note.startswith("/shared")]


def test_a_slow_disk_among_uneven_ones_is_named(measured):
    """One at 5 MB/s among disks that differ by factors."""
    uneven = {
        host: GB * factor
        for host, factor in zip(HOSTS, (0.6, 0.8, 0.9, 1.0, 1.0, 1.2, 1.4, 1.7), strict=True)
    }
    outcome, _orders = measured(local=lambda host: 5e6 if host == "gpu-node8" else uneven[host])

    assert told(outcome, "fail") == {("gpu-node8", "/scratch")}


def test_a_server_that_was_slow_for_one_host_once_is_not_laid_on_it(measured):
    """All are measured again in halves at the same time, and are well."""
    times = []

    def rate(host, all_):
        times.append(len(all_))
        return GB / 10 if host == "gpu-node2" and len(times) <= 8 else GB

    outcome, _orders = measured(shared=rate)
    assert told(outcome, "fail") == set()
    assert (
        "/shared: 3 rounds, 8 hosts; hosts that were slow in the first round were not slow again"
        in outcome.notes
    )


def test_one_quantity_that_is_low_among_uneven_hosts_is_no_fault(eight, stage):
    """Taken from a lab at load 100: random reads of one host were a quarter of the others', its writes were well."""
    factors = dict(zip(HOSTS, (0.7, 0.5, 1.0, 1.1, 0.9, 1.3, 1.6, 0.8), strict=True))

    def answer(host, part, _asked, _stage):
        local = part.given["folder"] == "/scratch"
        share = 0.26 if host == "gpu-node1" and local else 1 / factors[host] if local else 1.0
        return said(GB * factors[host] if local else GB, share)

    facts = {host: {"tools": {"fio": "/usr/bin/fio"}} for host in HOSTS}
    outcome = storage(BenchSite(eight, stage(HOSTS, answer), facts))

    assert told(outcome, "fail") == set()
    assert "/scratch: 2 rounds, 8 hosts" in outcome.notes


def test_a_disk_that_was_slow_once_is_well(measured):
    """The best of its measurements counts."""
    times = []

    def rate(host):
        times.append(host)
        return GB / 20 if host == "gpu-node2" and times.count(host) == 1 else GB

    outcome, _orders = measured(local=rate)
    assert {each.status.value for each in outcome.verdicts} == {"ok"}


def test_a_full_local_disk_is_unknown_in_its_own_words(eight, stage):
    """The others are judged."""

    def answer(host, part, _asked, _stage):
        full = host == "gpu-node4" and part.given["folder"] == "/scratch"
        return StageAnswer(1, "", "OSError: [Errno 28] No space left on device") if full else said(GB)

    facts = {host: {"tools": {"fio": "/usr/bin/fio"}} for host in HOSTS}
    outcome = storage(BenchSite(eight, stage(HOSTS, answer), facts))

    (unknown,) = [each for each in outcome.verdicts if each.status == "unknown"]
    assert (unknown.subject, unknown.part) == ("gpu-node4", "/scratch")
    assert "No space left" in unknown.observed
