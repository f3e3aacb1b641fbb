"""How fast a fabric is."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from clusterwright.catalog import architecture, gpu
from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.expected import ORDERED, SCATTERED, all_reduce_s, crowding, network, step
from clusterwright.plan.fabric.parts import FabricSwitch
from clusterwright.plan.machines import machine
from clusterwright.plan.run import Layout, Run, Stack, Training

NDR = FabricSwitch(64, 400 * 10**9)
H100 = machine(gpu("h100-sxm-80gb"), 128)
KINDS = ["star", "ring", "leaf-spine", "fat-tree", "rail-optimized", "rail-only"]


@settings(deadline=None)  # a busy machine is no failure
@given(
    some.sampled_from(KINDS), some.integers(3, 200), some.sampled_from([2, 8]), some.sampled_from([1.0, 3.0])
)
def test_a_job_in_order_never_crowds_more_than_one_scattered(kind, nodes, ports, ratio):
    """And neither less than not at all."""
    made = design(kind, nodes, ports, NDR, ratio)

    assert 1 <= crowding(made, ORDERED) <= crowding(made, SCATTERED)


def test_full_bisection_is_never_crowded():
    """1 to 1: wherever the nodes lie."""
    for kind in ("fat-tree", "rail-optimized"):
        assert crowding(design(kind, 128, 8, NDR), SCATTERED) == 1


def test_a_scattered_job_on_a_tapered_leaf_spine_wants_its_uplinks_more_than_once():
    """42 ports down, 21 up: nearly twice, as most neighbors are on other leaves."""
    made = design("leaf-spine", 42 * 20, 1, NDR, 2.0)

    assert crowding(made, SCATTERED) == pytest.approx(2 * (1 - 1 / 20))
    assert crowding(made, ORDERED) == 1


def test_a_ring_of_cables_halves_the_ports_and_grows_slow_when_scattered():
    """Half the ports go each way; a scattered neighbor is a quarter of the ring away."""
    made = design("ring", 16, 8, NDR)

    assert network(made).nics == 4
    assert crowding(made, SCATTERED) == 4


def test_levels_add_latency():
    """One switch, three, five."""
    waits = [network(design("fat-tree", nodes, 1, NDR)).latency_s for nodes in (32, 1000, 5000)]

    assert waits == sorted(waits)
    assert len(set(waits)) == 3


def test_kinds_differ_where_they_should():
    """All-reduce of 1 GiB: a ring of cables takes about twice a switch; a star takes longer once scattered."""
    tree, ring, star = (design(kind, 16, 8, NDR) for kind in ("fat-tree", "ring", "star"))

    assert all_reduce_s(H100, ring) > 1.5 * all_reduce_s(H100, tree)
    assert all_reduce_s(H100, star, placement=SCATTERED) > 1.5 * all_reduce_s(H100, tree, placement=SCATTERED)


def test_a_step_is_no_faster_on_a_crowded_fabric():
    """Steps of a model on fewer and fewer uplinks."""
    training = Training(architecture("llama2-7b"), 4096, 512)
    run = Run(training, Layout(dp=128, zero=3), H100, Stack("fsdp"))
    steps = [
        float(step(run, design("leaf-spine", 16, 8, NDR, ratio), SCATTERED).total)
        for ratio in (1.0, 3.0, 7.0, 15.0)
    ]

    assert steps == sorted(steps)
    assert steps[-1] > steps[0]


def test_order_does_not_help_experts_that_talk_to_all():
    """Mixtral with its experts spread: the same step in order and scattered; a dense model gains by order."""
    star = design("star", 16, 8, NDR)
    spread = Run(
        Training(architecture("mixtral-8x7b"), 4096, 512),
        Layout(dp=128, ep=8, zero=1),
        H100,
        Stack("megatron"),
    )
    dense = Run(Training(architecture("llama2-7b"), 4096, 512), Layout(dp=128, zero=3), H100, Stack("fsdp"))

    assert step(spread, star, ORDERED).total == step(spread, star, SCATTERED).total
    assert step(dense, star, ORDERED).total < step(dense, star, SCATTERED).total


def test_faster_ports_never_make_it_slower():
    """All-reduce is monotone in the rate of a port."""
    slow, fast = (
        all_reduce_s(H100, replace(design("fat-tree", 16, 8, NDR), port_bits_per_s=rate * 10**9))
        for rate in (200, 400)
    )

    assert fast <= slow
