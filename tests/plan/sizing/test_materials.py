"""What a cluster is bought from."""

from dataclasses import replace

import pytest

from clusterwright.catalog import gpu as gpu_of
from clusterwright.catalog import gpus
from clusterwright.plan.machines import Wiring, machine
from clusterwright.plan.sizing.fewest import sized
from clusterwright.plan.sizing.materials import materials


@pytest.fixture(scope="module")
def bought(work, means):
    """The materials for so many GPUs of a kind."""

    def buy(name, gpus, wiring=None):
        size = sized(work, machine(gpu_of(name), gpus, wiring), means)
        return materials(size, size.machine)

    return buy


def test_one_server_needs_no_fabric(bought):
    """A server, a switch for management, storage and a rack."""
    made = bought("h100-sxm-80gb", 8)

    assert made.networks is None
    assert [line.count for line in made.bill.filter_kinds("server", "switch").lines] == [1, 1]


def test_the_bill_counts_what_the_networks_have(bought):
    """Switches and cables of all three, each once."""
    made = bought("h100-sxm-80gb", 128)
    nets = made.networks

    switches = sum(line.count for line in made.bill.lines if line.kind == "switch")
    cables = sum(line.count for line in made.bill.lines if line.kind == "cable")
    assert switches == nets.switches
    assert cables == nets.compute.cables + nets.storage.cables + nets.management.cables


def test_the_total_is_the_sum(bought):
    """Of every line that has a price."""
    made = bought("a100-sxm-80gb", 32).bill

    assert made.total.likely == pytest.approx(sum(line.total.likely for line in made.lines if line.total))
    assert made.currency == "USD"


def test_superchips_come_by_the_rack(bought):
    """144 GPUs are 36 trays: two racks of NVL72."""
    made = bought("gb200", 144)

    assert made.hall is not None
    assert made.hall.racks == 2
    assert next(line.count for line in made.bill.lines if line.kind == "server") == 2


def test_a_gpu_without_a_server_has_a_line_without_a_price(bought):
    """The total does not pretend."""
    made = bought("mi325x", 16)

    assert "server with 8 x mi325x" in made.bill.without_price


def test_ports_beyond_the_servers_own_are_bought(bought):
    """The guides' A100 server has one HDR100; eight ports of HDR are eight more cards, less that one."""
    made = bought("a100-sxm-80gb", 16, Wiring(network="infiniband", nics=8, nic_bits_per_s=200e9))

    assert next(line.count for line in made.bill.lines if line.kind == "NIC") == 2 * 8 - 2


def test_more_nodes_never_cost_less(work, means):
    """Servers for the teams, and all that joins them."""
    size = sized(replace(work, samples=1000), machine(gpu_of("h100-sxm-80gb"), 16), means)

    totals = [
        materials(size, machine(gpu_of("h100-sxm-80gb"), 8 * nodes)).bill.total.likely
        for nodes in (2, 4, 8, 16)
    ]
    assert totals == sorted(totals)


@pytest.mark.parametrize("count", [1, 8, 512])
def test_there_is_a_bill_for_every_gpu(count, bought):
    """Whatever is known of it; without its power there are no racks."""
    for name, card in gpus().items():
        if {"bf16", "fp16"} & card.peak.keys():
            made = bought(name, count)
            assert made.bill.lines, name
            assert (made.hall is None) == (card.power_w == 0), name
