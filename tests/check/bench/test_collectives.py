"""A sweep on a model of hosts: a slow group is bisected to the part, and wrong data fails whatever its speed."""

import json
from pathlib import Path

import pytest

from clusterwright.check.bench.kinds.collectives import collectives, expectation, plan_of
from clusterwright.check.bench.kinds.network import expectation as line
from clusterwright.check.bench.site import BenchSite
from clusterwright.check.bench.stage import StageAnswer
from clusterwright.config.load import load_cluster

EXAMPLE = Path(__file__).parents[3] / "examples/lab/cluster.yaml"
LAB = ("gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4")


def groups_of(asked):
    """The groups of an order: hosts that meet at one address and port."""
    found = {}
    for host, part in asked.items():
        found.setdefault((part.given["address"], part.given["port"]), []).append(host)
    return found.values()


def fabric(rate, *, wrong=0):
    """Rank 0 of each group prints what `rate(hosts of the group)` in bytes/s comes to."""

    def answer(host, part, asked, _stage):
        if part.given["first_rank"]:
            return StageAnswer(0, "", "")
        group = next(group for group in groups_of(asked) if host in group)
        bus_bw = rate(group) / 1e9
        rows = [
            {
                "kind": kind, "size": size, "count": size // 4, "redop": "sum", "time_us": 1.0, "algbw": 1.0,
                "busbw": bus_bw, "wrong": wrong, "ranks": part.given["ranks"],
            }
            for kind in part.given["kinds"]
            for size in part.given["sizes"]
        ]  # fmt: skip
        return StageAnswer(0, "\n".join(map(json.dumps, [*rows, {"carried": {"compute": 10**9}}])), "")

    return answer


def told(outcome):
    """Status by subject and part."""
    return {(each.subject, each.part): each.status.value for each in outcome.verdicts}


WELL = {("gpu-node[1-4]", "data"): "ok", ("gpu-node[1-4]", "rate"): "ok"}


def test_hosts_that_are_well_take_one_order(site):
    """Five operations in three sizes, time and bandwidth of each."""
    outcome = collectives(made := site(fabric(lambda _: 120e6)))

    assert told(outcome) == WELL
    assert len(made.stage.orders) == 1
    assert len(outcome.measurements) == 2 * 5 * 3
    assert outcome.measurements[0].conditions["transport"] == "tcp by compute"
    assert outcome.notes == ()


@pytest.mark.parametrize("bad", LAB)
def test_the_host_that_makes_it_slow_is_found(site, bad):
    """The whole is a warning, the host fails; six orders at most: twice all, then halves and pairs."""
    outcome = collectives(made := site(fabric(lambda group: 30e6 if bad in group else 120e6)))

    assert told(outcome) == WELL | {("gpu-node[1-4]", "rate"): "warn", (bad, ""): "fail"}
    assert len(made.stage.orders) <= 4
    assert outcome.notes == (f"bisection of slow groups: {len(made.stage.orders)} rounds, 4 hosts",)


def test_what_was_slow_once_is_measured_again(site):
    """And is well."""
    orders = []

    def rate(group):
        orders.append(group)
        return 30e6 if len(orders) == 1 else 120e6

    outcome = collectives(made := site(fabric(rate)))
    assert told(outcome) == WELL
    assert len(made.stage.orders) == 2


def test_where_all_are_slow_nobody_fails(site):
    """The group is named as open, with a warning."""
    outcome = collectives(site(fabric(lambda _: 30e6)))

    assert told(outcome) == WELL | {("gpu-node[1-4]", "rate"): "warn", ("gpu-node[1-4]", "open"): "warn"}


def test_wrong_data_fails(site):
    """However fast."""
    outcome = collectives(site(fabric(lambda _: 120e6, wrong=3)))

    assert told(outcome)["gpu-node[1-4]", "data"] == "fail"
    assert "all_reduce: 3 elements of the result are wrong" in outcome.verdicts[0].observed


def test_a_host_that_dies_is_left_out_and_the_sweep_done_again(site):
    """The others are measured without it."""
    outcome = collectives(made := site(fabric(lambda _: 120e6), dies={"gpu-node2": 1}))

    assert len(made.stage.orders) == 2
    assert set(made.stage.orders[1]) == {"gpu-node1", "gpu-node3", "gpu-node4"}
    assert {each.subject for each in outcome.verdicts} == {"gpu-node[1,3-4]"}
    assert all(each.status == "ok" for each in outcome.verdicts)


def test_a_sweep_that_does_not_end_well_is_unknown(site):
    """Not green; where no group does better, nobody is blamed."""
    outcome = collectives(site(lambda *_: StageAnswer(1, "", "no torch")))

    assert told(outcome) == {("gpu-node[1-4]", "rate"): "unknown", ("gpu-node[1-4]", "open"): "warn"}


def test_the_host_that_lets_the_sweep_fail_is_found(site):
    """As one that makes it slow."""
    well = fabric(lambda _: 120e6)

    def answer(host, part, asked, stage):
        group = next(group for group in groups_of(asked) if host in group)
        return StageAnswer(1, "", "", "overran") if "gpu-node2" in group else well(host, part, asked, stage)

    outcome = collectives(site(answer))
    assert told(outcome) == {("gpu-node[1-4]", "rate"): "unknown", ("gpu-node2", ""): "fail"}


def test_bytes_on_another_interface_are_told_of(site):
    """By the kernel's own counters."""
    whole = fabric(lambda _: 120e6)

    def answer(*asked):
        found = whole(*asked)
        return StageAnswer(0, found.out.replace('"compute"', '"management"'), "")

    assert "management carried most of the traffic instead of compute" in collectives(site(answer)).notes[0]


def test_gloo_is_expected_to_fill_one_port(site):
    """Its largest message takes a quarter of a second of the line."""
    made = site(fabric(lambda _: 1))
    plan = plan_of(made)

    assert plan.backend == "gloo"
    assert plan.sizes[-1] == pytest.approx(line(made).value * 0.25, rel=0.001)
    assert expectation(made, LAB, plan).value == line(made).value


def test_nccl_is_expected_to_do_what_the_planner_says(site, tmp_path):
    """Where every host has the library and a driver; all GPUs of all hosts."""
    file, lab = tmp_path / "cluster.yaml", EXAMPLE.read_text()
    file.write_text(lab[: lab.index("# This section makes it the file of a lab")])
    made = site(fabric(lambda _: 1))
    facts = {
        host: found | {"versions": {"nccl": "2.21.5", "driver": "550.1"}}
        for host, found in made.facts.items()
    }
    metal = BenchSite(load_cluster(file), made.stage, facts)

    plan = plan_of(metal)
    want = expectation(metal, LAB, plan)
    assert plan.backend == "nccl"
    assert plan.sizes[-1] == 2**33
    assert "16 a100" in want.reason
    assert 1e9 < want.value < 13e9  # one port of 100 Gbit/s is 12.5 GB/s
