"""What goes into a node beside its GPUs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import gpu, gpus
from clusterwright.plan.machines import machine
from clusterwright.plan.sizing.host import GIB, host


def parts(name, count=8):
    """By what they are."""
    return {part.label: part for part in host(machine(gpu(name), count))}


def test_the_guides_reference_node():
    """8 x A100-80G: two sockets of 64 cores and 1 TiB at the least, as theirs has."""
    node = parts("a100-sxm-80gb", 16)

    assert node["CPU cores"].amount == 128
    assert 1024 <= node["memory"].amount / GIB <= 1536
    assert node["NICs"].amount == 8


@pytest.mark.parametrize("name", sorted(gpus()))
def test_a_node_has_twice_its_gpus_memory_and_128_gib(name):
    """Whatever the GPU; decimal GB of the GPU against GiB of modules."""
    card = gpus()[name]
    node = {part.label: part for part in host(machine(card, 8))}

    assert node["memory"].amount >= 128 * GIB
    assert node["memory"].amount >= 0.93 * 2 * machine(card, 8).gpus_per_node * card.memory_bytes


@given(st.floats(1, 1e10))
def test_more_data_never_takes_less_scratch(work, samples):
    """Drives are whole, and two at the least."""
    on = machine(gpu("h100"), 16)
    scratch = [
        next(part for part in host(on, replace(work, samples=each)) if part.label == "scratch").amount
        for each in (samples, 2 * samples)
    ]

    assert scratch[0] <= scratch[1]
    assert scratch[0] >= 2 * 3.84e12


def test_every_part_has_a_reason():
    """A bill without reasons is not believed."""
    for part in host(machine(gpu("l40s"), 4)):
        assert part.reason
        assert part.text


def test_a_supply_may_fail():
    """Of the supplies of a node the others hold it; a DGX H100 has six of 3.3 kW."""
    made = parts("h100-sxm-80gb", 16)["power supplies"]

    assert 4 <= made.amount <= 6
    assert "which is sufficient" in made.reason
