"""GPUs judged by what hosts say of them: a slow, hot, wrong or silent one is named, and what fixes it."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import gpus as catalog_gpus
from clusterwright.check.bench.gpu.expected import expected, precisions
from clusterwright.check.bench.gpu.gpus import GpuRun, in_doubt, verdicts
from clusterwright.check.bench.kinds.gpu import gpu
from clusterwright.check.bench.parsers.gpu import gpus
from clusterwright.check.bench.stage import StageAnswer

REST = {"temperature.gpu": 31.0, "clocks.current.sm": 210.0, "clocks_event_reasons.active": 1.0}
WORK = {
    "temperature.gpu": 61.0, "clocks.current.sm": 1395.0, "clocks.max.sm": 1410.0, "power.draw": 388.0,
    "clocks_event_reasons.active": 4.0, "pcie.link.gen.current": 4.0, "pcie.link.gen.max": 4.0,
    "pcie.link.width.current": 16.0, "pcie.link.width.max": 16.0,
}  # fmt: skip
A100 = catalog_gpus()["a100-sxm-80gb"]


def one(index, count=4, *, bf16=265e12, host=24e9, peer=250e9, working=None, wrong=(), slow_to=()):
    """What one A100 says when it is well, but for what is given."""
    rows = [{**WORK, **(working or {})}]
    rates = {str(other): peer * (0.3 if other in slow_to else 1) for other in range(count) if other != index}
    return {
        "index": index, "name": "NVIDIA A100-SXM4-80GB", "torch": "2.7.0", "reason": "",
        "steps": {
            "matrix bf16": {"flop_per_s": bf16, "wrong": list(wrong)},
            "matrix tf32": {"flop_per_s": 135e12, "wrong": []},
            "memory": {"copy": 1.74e12, "triad": 1.76e12, "wrong": []},
            "copies": {"there": host, "back": host, "pinned": True, "wrong": []},
            "peers": {"rates": rates, "direct": dict.fromkeys(rates, True), "wrong": []},
        },
        "readings": {"before": REST, "after": REST, "during": {"matrix bf16": rows, "copies": rows}},
    }  # fmt: skip


def silent(index, why):
    """A GPU that came to nothing."""
    return {"index": index, "steps": {}, "reason": why, "readings": {"during": {}}}


@pytest.fixture
def metal(site, cluster):
    """`metal(bad)`: four hosts of four A100, no lab; `bad(host, gpu, times)` gives what is not as usual of one GPU."""

    def make(bad=lambda _host, _gpu, _times: None, *, blind="", **more):
        seen = {}

        def answer(host, _part, _asked, _stage):
            seen[host] = times = seen.get(host, 0) + 1
            found = [bad(host, index, times) or one(index) for index in range(4)]
            return StageAnswer(0, json.dumps({"gpus": found, "blind": blind}), "")

        made = site(answer, **more)
        return replace(made, cluster=cluster.model_copy(update={"lab": None}))

    return make


def on(host, index, what, *, always=True):
    """That GPU is so, each time or the first time only."""
    return lambda h, i, times: what if (h, i) == (host, index) and (always or times == 1) else None


def not_well(outcome):
    """Subject, part and status of everything that is not ok."""
    return {(each.subject, each.part, each.status.value) for each in outcome.verdicts if each.status != "ok"}


def test_equal_gpus_are_all_well(metal):
    """One verdict for each GPU, measured once; clocks, heat and power are kept beside the rates."""
    outcome = gpu(made := metal())

    assert not_well(outcome) == set()
    assert len(outcome.verdicts) == 16
    assert len(made.stage.orders) == 1
    assert outcome.verdicts[0].observed.startswith("bf16 products 265 TFLOP/s")
    kept = {each.quantity: each.value for each in outcome.measurements if each.subject == "gpu-node1 gpu 0"}
    assert kept["temperature under load"] == 61
    assert (kept["temperature before"], kept["temperature after"]) == (31, 31)
    assert kept["SM clock under load"] == 1395e6
    assert kept["copies to a peer"] == 250e9
    assert "gpu-node1 gpu 0>gpu 3" in {each.subject for each in outcome.measurements}


@pytest.mark.parametrize(
    ("working", "said", "fix"),
    [
        ({"clocks.current.sm": 900.0, "temperature.gpu": 92.0, "clocks_event_reasons.active": 64.0},
         "at 900 MHz of 1.41 GHz, 92 C (31 before), 388 W, throttled by hardware thermal slowdown", "cooling"),
        ({"clocks.current.sm": 900.0, "clocks_event_reasons.active": 136.0}, "power brake", "power supplies"),
        ({"power.draw": 200.0}, "at 1.4 GHz of 1.41 GHz, 61 C (31 before), 200 W", "power limit"),
    ],
)  # fmt: skip
def test_a_slow_gpu_fails_with_how_it_was_and_what_mends_that(metal, working, said, fix):
    """Behind its model's rate and behind the others, twice."""
    slow = one(3, bf16=150e12, working=working)
    outcome = gpu(made := metal(on("gpu-node2", 3, slow)))

    assert not_well(outcome) == {("gpu-node2", "gpu 3", "fail")}
    (failed,) = [each for each in outcome.verdicts if each.status == "fail"]
    assert said in failed.observed
    assert "bf16 products 150 TFLOP/s, the best of 2 measurements" in failed.observed
    assert fix in failed.fix
    assert "a100-sxm-80gb's peak" in failed.expected
    assert [sorted(order) for order in made.stage.orders[1:]] == [["gpu-node2"]]


def test_a_gpu_that_was_disturbed_once_is_well(metal):
    """The best of its measurements counts."""
    outcome = gpu(metal(on("gpu-node2", 3, one(3, bf16=150e12), always=False)))

    assert not_well(outcome) == set()


def test_one_wrong_element_fails_even_if_it_does_not_come_again(metal):
    """Where it is, and what it should have been."""
    told = "1 of 67108864 elements: [17, 4] is 3072 and not 3080"
    outcome = gpu(metal(on("gpu-node4", 1, one(1, wrong=[told]), always=False)))

    assert not_well(outcome) == {("gpu-node4", "gpu 1", "fail")}
    (failed,) = [each for each in outcome.verdicts if each.status == "fail"]
    assert failed.observed == f"matrix bf16: {told}"
    assert "replace the GPU" in failed.fix


def test_half_the_lanes_are_told_of_where_copies_are_slow(metal):
    """And not where they are well."""
    slow = one(0, host=11e9, working={"pcie.link.width.current": 8.0})
    outcome = gpu(metal(on("gpu-node1", 0, slow)))

    failed = [each for each in outcome.verdicts if each.status == "fail"]
    assert {(each.subject, each.part) for each in failed} == {("gpu-node1", "gpu 0")}
    assert all("over 8 of 16 lanes of PCIe 4.0" in each.observed and "lanes" in each.fix for each in failed)
    assert "21 GB/s" in failed[0].expected


def test_two_gpus_that_are_slow_to_each_other_are_named_as_a_way(metal):
    """Both do well with others, so neither is at fault alone."""
    outcome = gpu(metal(on("gpu-node3", 1, one(1, slow_to=[2]))))

    assert not_well(outcome) == {("gpu-node3", "gpu 1>gpu 2", "fail")}


def test_a_gpu_that_fails_twice_while_others_work_is_named(metal):
    """In its own last words."""
    gone = silent(2, "RuntimeError: CUDA error: uncorrectable ECC error encountered")
    outcome = gpu(metal(on("gpu-node1", 2, gone)))

    assert not_well(outcome) == {("gpu-node1", "gpu 2", "fail")}
    assert "uncorrectable ECC error" in next(
        each.observed for each in outcome.verdicts if each.part == "gpu 2"
    )


def test_a_host_whose_torch_sees_no_gpu_is_unknown_once(metal):
    """It is the same for all of them."""

    def none(host, index, _times):
        return silent(index, "torch 2.7.0+cpu sees 0 GPUs") if host == "gpu-node1" else None

    outcome = gpu(metal(none))

    assert not_well(outcome) == {("gpu-node1", "", "unknown")}
    assert outcome.verdicts[-1].observed == "no GPU could be measured: torch 2.7.0+cpu sees 0 GPUs"
    assert "torch has CUDA" in outcome.verdicts[-1].fix


def test_without_nvidia_smi_the_rates_are_judged_and_it_is_said(metal):
    """How hot they were is not known."""
    outcome = gpu(metal(blind="nvidia-smi is not installed", hosts=["gpu-node1"]))

    assert outcome.notes == (
        "gpu-node1: clocks, temperature and power not read: nvidia-smi is not installed",
    )


def test_where_all_are_slow_nobody_is_blamed(metal):
    """A power limit for all, say."""
    outcome = gpu(metal(lambda _host, index, _times: one(index, bf16=150e12)))

    assert {status for _, _, status in not_well(outcome)} == {"warn"}


def test_in_a_lab_there_is_no_figure(site):
    """Simulated GPUs compute nothing, and no host is asked."""
    outcome = gpu(made := site(lambda *_: None))

    assert {each.status.value for each in outcome.verdicts} == {"unknown"}
    assert {each.observed for each in outcome.verdicts} == {
        "GPUs of a lab are simulated: their rates cannot be measured"
    }
    assert (outcome.measurements, made.stage.orders) == ((), [])


def test_a_model_that_the_catalog_does_not_have_is_held_against_the_others(metal, cluster):
    """And that is said."""
    made = metal()
    declared = cluster.nodes["a100"].gpus.model_copy(update={"model": "x9000"})
    group = cluster.nodes["a100"].model_copy(update={"gpus": declared})
    other = made.cluster.model_copy(update={"nodes": {**cluster.nodes, "a100": group}})
    outcome = gpu(replace(made, cluster=other))

    assert not_well(outcome) == set()
    assert outcome.notes == ("the catalog has no GPU `x9000`, so its GPUs are compared only with each other",)


def test_hosts_of_unlike_numbers_are_asked_for_as_many_as_each_has(metal, cluster):
    """One job asks all its hosts for as many GPUs; the rest is told of."""
    made = metal()
    more = cluster.nodes["a100"].gpus.model_copy(update={"count": 8})
    two = {
        "four": cluster.nodes["a100"].model_copy(update={"hosts": "gpu-node[1-3]"}),
        "eight": cluster.nodes["a100"].model_copy(update={"hosts": "gpu-node4", "gpus": more}),
    }
    nodes = {"control": cluster.nodes["control"], **two}
    outcome = gpu(replace(made, cluster=made.cluster.model_copy(update={"nodes": nodes})))

    assert {part.given["count"] for order in made.stage.orders for part in order.values()} == {4}
    assert not_well(outcome) == set()
    assert outcome.notes == (
        (
            "gpu-node4: measured 4 of its 8 GPUs, because every host is measured with the same number; "
            "to measure all, run the bench on this host alone (--hosts)"
        ),
    )


@pytest.mark.parametrize(
    "name", ["v100-sxm2-16gb", "a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb"]
)
def test_what_is_expected_is_below_the_line_and_says_its_source(name):
    """Of every quantity."""
    row = catalog_gpus()[name]
    lines = {
        **{f"{each} products": row.peak[each] for each in precisions(row)}, "memory copy": row.memory_bytes_per_s,
        "copies to the host": 64e9, "copies to a peer": row.link_bytes_per_s,
    }  # fmt: skip

    for quantity, line in lines.items():
        want = expected(quantity, row, nvlink=True)
        assert 0.4 * line * (quantity != "copies to the host") < want.least < line, quantity
        assert "catalog" in want.reason
    assert expected("copies to a peer", row, nvlink=False) is None


rates = st.floats(min_value=1e12, max_value=4e14)


@given(st.lists(st.lists(rates, min_size=4, max_size=4), min_size=1, max_size=4), st.integers(1, 2))
def test_nothing_fails_that_is_as_expected_or_was_measured_once(by_host, times):
    """Whatever the others do."""
    hosts = {
        f"n{place}": {"gpus": [one(i, bf16=rate) for i, rate in enumerate(row)], "blind": ""}
        for place, row in enumerate(by_host)
    }
    found = {host: gpus(said) for host, said in hosts.items()}
    told = GpuRun(
        [found] * times,
        dict.fromkeys(found, "a100"),
        lambda _, quantity: expected(quantity, A100, nvlink=True),
    )
    least = expected("bf16 products", A100, nvlink=True).least

    for verdict in verdicts(told):
        if verdict.status == "fail":
            row = by_host[int(verdict.subject[1:])]
            assert row[int(verdict.part.removeprefix("gpu "))] < least
            assert times > 1
    bad = {host for host, row in zip(found, by_host, strict=True) if any(rate < least for rate in row)}
    assert bad <= set(in_doubt(told))
