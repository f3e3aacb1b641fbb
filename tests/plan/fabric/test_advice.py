"""When InfiniBand pays."""

from dataclasses import replace

import pytest

from clusterwright.catalog import architecture, gpu
from clusterwright.plan.fabric.advice import advise, step_on, unlimited_s, usual_choices
from clusterwright.plan.machines import machine
from clusterwright.plan.run import Layout, Machine, Run, Stack, Training

A100 = machine(gpu("a100-sxm-80gb"), 32)


def run(model="llama2-7b", on: Machine = A100, batch=128, zero=3):
    """A data-parallel training over all GPUs."""
    training = Training(architecture(model), 4096, batch)
    return Run(training, Layout(dp=on.gpus, zero=zero), on, Stack("fsdp"))


def test_a_7b_on_one_25g_port_waits_most_of_its_step():
    """FSDP gathers every layer over it; all ports of RoCE or InfiniBand are enough."""
    made = advise(run())

    assert made.choice("Ethernet 1x25G").waiting > 0.5
    assert made.enough.name in {"Ethernet", "RoCE", "InfiniBand"}
    assert made.enough.name in made.verdict


def test_what_is_enough_loses_no_more_than_it_saves():
    """The cheapest within the bar; everything cheaper is beyond it."""
    made = advise(run(), worth=0.03)
    place = made.choices.index(made.enough)

    assert made.enough.slower <= 0.03
    assert all(each.slower > 0.03 for each in made.choices[:place])


def test_a_higher_bar_never_asks_for_a_dearer_network():
    """What is enough moves to the cheap end as the bar rises."""
    places = [
        (made := advise(run(), worth=bar)).choices.index(made.enough) for bar in (0.0, 0.05, 0.5, 5.0, 1e6)
    ]

    assert places == sorted(places, reverse=True)
    assert places[-1] == 0


def test_plain_ethernet_does_not_fill_fast_ports():
    """Ports of 200 Gbit/s: TCP moves less than a third of them; a port of 25 is filled."""
    networks = usual_choices(A100)

    assert networks["Ethernet"].nic_bytes_per_s < A100.network.nic_bytes_per_s / 3
    assert networks["RoCE"].nic_bytes_per_s == A100.network.nic_bytes_per_s
    assert networks["Ethernet 1x25G"].nic_bytes_per_s == 25e9 / 8


def test_one_node_waits_for_no_network():
    """Eight GPUs in a node: the cheapest is enough."""
    alone = machine(gpu("a100-sxm-80gb"), 8)
    made = advise(run(on=alone, batch=32))

    assert made.enough == made.choices[0]
    assert made.enough.waiting == pytest.approx(0, abs=1e-6)


def test_no_network_beats_one_that_is_never_waited_for():
    """The unlimited network is a lower bound."""
    asked = run()

    assert unlimited_s(asked) <= min(choice.step_s for choice in advise(asked).choices)


def test_a_slow_network_may_be_cut_another_way():
    """A pipeline that sends little, where it is offered: the slow port loses less, the fast one nothing."""
    piped = Layout(dp=4, tp=1, pp=8, zero=1, micro_batch=1)
    kept, cut = advise(run()), advise(run(), plan=lambda _training, _machine: piped)

    assert cut.choice("Ethernet 1x25G").layout == piped
    assert cut.choice("Ethernet 1x25G").step_s < kept.choice("Ethernet 1x25G").step_s
    assert all(a.step_s <= b.step_s for a, b in zip(cut.choices, kept.choices, strict=True))


def test_own_choices_are_taken_as_given():
    """Names and networks of the caller's, in the caller's order."""
    own = {"slow": replace(A100.network, nics=1), "fast": A100.network}
    made = advise(run(), own)

    assert [choice.name for choice in made.choices] == ["slow", "fast"]
    assert made.choice("fast").step_s == step_on(run(), A100.network)
