"""Laws of collectives, whatever the coefficients; and nccl-tests' conventions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog.gpus import gpu
from clusterwright.plan.collectives import Collective, bus_bw_bytes_per_s, seconds
from clusterwright.plan.collectives.algorithms import PROTOCOLS, ring
from clusterwright.plan.collectives.coefficients import stored
from clusterwright.plan.collectives.links import RankGroup, local, nic_rate, path
from clusterwright.plan.run import Machine, Network

NODES = Machine(gpu("h100-sxm-80gb"), 1024, 8, 8, Network("infiniband", 8, 50e9))
RACKS = Machine(gpu("gb200"), 1152, 4, 72, Network("infiniband", 4, 50e9))
CARDS = Machine(gpu("l40s"), 64, 8, 1, Network("ethernet", 1, 3.125e9))
MACHINES = st.sampled_from([NODES, RACKS, CARDS])
SIZES = st.floats(1, 1e11)
KINDS = st.sampled_from(list(Collective))
GROUPS = st.sampled_from([(2, 2), (4, 4), (8, 8), (16, 8), (16, 1), (64, 8), (128, 4), (512, 8)])


@given(KINDS, SIZES, MACHINES, GROUPS)
def test_a_larger_message_takes_longer(kind, size, machine, group):
    """Time grows with size."""
    assert seconds(kind, size * 1.5, machine, *group) > seconds(kind, size, machine, *group)


@given(KINDS, SIZES, MACHINES, GROUPS, st.floats(1.0, 10.0))
def test_a_faster_network_is_never_slower(kind, size, machine, group, times_faster):
    """Time falls with the NICs' rate."""
    rate = machine.network.nic_bytes_per_s * times_faster
    faster = replace(machine, network=replace(machine.network, nic_bytes_per_s=rate))

    assert seconds(kind, size, faster, *group) <= seconds(kind, size, machine, *group) * (1 + 1e-9)


@given(KINDS, SIZES, MACHINES, GROUPS, st.floats(1.0, 8.0))
def test_sharing_and_oversubscription_never_help(kind, size, machine, group, times_less):
    """What other groups and thin spines take is gone."""
    alone = seconds(kind, size, machine, *group)
    thin = replace(machine, network=replace(machine.network, oversubscription=times_less))

    assert seconds(kind, size, machine, *group, times_less) >= alone * (1 - 1e-9)
    assert seconds(kind, size, thin, *group) >= alone * (1 - 1e-9)


@given(SIZES, MACHINES, GROUPS, st.sampled_from(PROTOCOLS))
def test_a_ring_all_reduce_is_a_reduce_scatter_and_an_all_gather(size, machine, group, protocol):
    """Less, at most, what it costs to launch and start one more."""
    c = stored()
    over = path(RankGroup(machine, *group), c)
    parts = [ring(kind, size, over, protocol) for kind in (Collective.REDUCE_SCATTER, Collective.ALL_GATHER)]
    start = c.launch_s + protocol.start_s

    found = ring(Collective.ALL_REDUCE, size, over, protocol)

    assert (sum(parts) - start) * (1 - 1e-9) <= found <= sum(parts)


@given(
    st.sampled_from([Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.BROADCAST]),
    SIZES,
    MACHINES,
    GROUPS,
)
def test_bus_bandwidth_stays_below_the_slower_tier(kind, size, machine, group):
    """A ring is as fast as its slowest link, at the fitted share of line rate, at best."""
    on = RankGroup(machine, *group)
    ceiling = min(local(on, stored()), nic_rate(on, stored()))

    assert bus_bw_bytes_per_s(kind, size, machine, *group) <= ceiling
    assert ceiling <= max(machine.gpu.link_bytes_per_s, 63e9)


@given(SIZES, GROUPS)
def test_a_switch_that_reduces_halves_the_traffic_at_most(size, group):
    """An all-reduce in the switch sends each byte once: twice a ring's bus bandwidth is the limit."""
    assert bus_bw_bytes_per_s("all_reduce", size, NODES, *group) < 2 * NODES.gpu.link_bytes_per_s


@given(KINDS, SIZES, MACHINES)
def test_many_groups_at_once_are_as_many_single_ones(kind, size, machine):
    """Arrays go element by element."""
    ranks, here = np.array([1.0, 8, 16, 512]), np.array([1.0, 8, 4, 8])
    together = seconds(kind, size, machine, ranks, here)
    single = [
        seconds(kind, size, machine, *group) for group in zip(ranks.tolist(), here.tolist(), strict=True)
    ]

    assert together == pytest.approx(single)


def test_one_rank_has_nobody_to_talk_to():
    """A group of one costs nothing."""
    assert seconds("all_reduce", 1e9, NODES, 1, 1) == 0


def test_rail_aligned_groups_each_have_their_own_nic():
    """Eight groups of one GPU a node, on eight NICs, do not disturb one another; on two NICs they do."""
    two = replace(NODES, network=replace(NODES.network, nics=2))

    assert seconds("all_reduce", 1e9, NODES, 16, 1, 8) == seconds("all_reduce", 1e9, NODES, 16, 1, 1)
    assert seconds("all_reduce", 1e9, two, 16, 1, 8) > 3 * seconds("all_reduce", 1e9, two, 16, 1, 1)


def test_a_rack_of_nvlink_is_one_node():
    """72 GPUs of an NVL72 reduce at NVLink's rate, far above what their NICs could carry."""
    assert bus_bw_bytes_per_s("all_reduce", 16e9, RACKS, 72, 72) > 5 * 4 * 50e9 / 4


def test_small_messages_over_many_nodes_take_the_tree():
    """Latency of a ring grows with the GPUs, a tree's with their logarithm."""
    near, far = (seconds("all_reduce", 1e4, NODES, ranks, 8) for ranks in (64, 1024))

    assert far < 3 * near


def test_all_to_all_leaves_through_the_nics():
    """With half of the GPUs elsewhere, half of the bytes go by NIC."""
    time = seconds("all_to_all", 1e9, NODES, 16, 8)

    assert time > 0.5e9 / 50e9


def test_a_pair_on_an_unswitched_board_has_one_link_of_three():
    """Four V100 join each pair by two links of six: a group of two cannot use the others."""
    board = Machine(gpu("v100-sxm2-32gb"), 4, 4, 4)

    assert bus_bw_bytes_per_s("all_reduce", 4e9, board, 2, 2) < 0.4 * bus_bw_bytes_per_s(
        "all_reduce", 4e9, board, 4, 4
    )


def test_a_machine_without_a_network_is_one_node():
    """Whatever the caller takes for a node: cards on PCIe have an NVLink domain of one."""
    alone = replace(CARDS, gpus=8, network=Network("none"))

    assert seconds("all_reduce", 1e9, alone, 8, 1) == seconds("all_reduce", 1e9, alone, 8, 8)


@pytest.mark.parametrize(
    ("name", "direct"), [("rtx-4090", False), ("rtx-3090", False), ("rtx-6000-ada", True)]
)
def test_cards_for_games_reach_one_another_through_the_host(name, direct):
    """Both have PCIe 4; the driver of GeForce allows no direct access."""
    pair = Machine(gpu(name), 2, 2, 1, Network("none"))

    assert (bus_bw_bytes_per_s("all_reduce", 1e9, pair, 2, 2) > 12e9) is direct


def test_four_gpus_of_a_switched_board_have_all_links():
    """Half an HGX board is still behind its switch: a pair of them is as fast as all four."""
    half = replace(NODES, gpus=4, nvlink_domain=4, network=Network("none"))
    pair, four = (bus_bw_bytes_per_s("all_gather", 4e9, half, ranks, ranks) for ranks in (2, 4))

    assert pair == pytest.approx(four, rel=0.05)


def test_trees_of_two_nodes_cross_once():
    """Where NICs are slow a ring sends nearly twice the message out of each of two nodes, a tree once."""
    slow = Machine(gpu("a100-sxm-80gb"), 16, 8, 8, Network("efa", 4, 12.5e9))
    line = slow.network.nics * slow.network.nic_bytes_per_s

    assert line < bus_bw_bytes_per_s("all_reduce", 4e9, slow, 16, 8) < 2 * line
    assert bus_bw_bytes_per_s("all_reduce", 4e9, replace(slow, gpus=32), 32, 8) < line


@given(SIZES, st.sampled_from(["all_reduce", "all_gather"]))
def test_networks_of_more_software_are_slower(size, kind):
    """The same ports under EFA's or TCPX's protocol never beat InfiniBand's."""
    by = [
        seconds(kind, size, replace(NODES, network=replace(NODES.network, kind=name)), 16, 8)
        for name in ("infiniband", "efa", "tcpxo", "tcpx")
    ]

    assert min(by) == by[0]


def test_trees_leave_a_rack_by_few_of_its_gpus():
    """Beyond two racks an all-reduce is bound by the NICs of those that head the trees."""
    two, twenty = (
        bus_bw_bytes_per_s("all_reduce", 16e9, replace(RACKS, gpus=72 * racks), 72 * racks, 72)
        for racks in (2, 20)
    )

    assert twenty < 0.9 * two


def test_an_all_to_all_sends_a_message_to_each_neighbor():
    """Small ones cost more the more of them there are."""
    two, eight = (seconds("all_to_all", 1e5, replace(NODES, gpus=8), ranks, ranks) for ranks in (2, 8))

    assert eight > 1.1 * two


def test_the_launch_hides_behind_the_work():
    """A large message does not pay for its launch, a small one hardly for its steps."""
    c = stored()
    small, large = (seconds("all_gather", size, NODES, 8, 8) for size in (8.0, 4e9))

    assert small < 2.5 * c.launch_s
    assert large > 100 * c.launch_s
