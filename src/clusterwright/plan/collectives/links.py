"""The two tiers under a collective: links inside a node (or an NVLink rack), NICs between nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterwright.catalog.gpus import PCIE_BYTES_PER_S
from clusterwright.plan.collectives.coefficients import Coefficients, Wire, nearest
from clusterwright.plan.numbers import ceil, larger, log2, pick, smaller

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Machine

UNLIMITED = 1e30  # bytes/s of a tier that a group does not use
BOARD_GPUS = 8  # of the boards of NVLink 2 without a switch (DGX-1)
DIRECT_GPUS = 4  # boards of up to four GPUs join each pair by links of its own; larger ones have a switch


BRIDGED_GPUS = 2  # cards under one bridge use all of its links
GEFORCE = re.compile(r"(rtx|gtx)-\d0[5-9]0")  # the driver gives them no direct access to one another


def domain_size(machine: Machine) -> int:
    """GPUs that reach one another without a NIC: of a node, or of an NVLink domain where that is larger."""
    return max(machine.nvlink_domain, machine.gpus_per_node)


@dataclass(frozen=True, slots=True)
class Group:
    """GPUs that talk: numbers, or equally shaped arrays, on one machine."""

    machine: Machine
    ranks: Real
    ranks_per_node: Real  # of the group in one node, or in one NVLink domain where that is larger
    sharing: Real = 1.0  # such groups in one node (or domain) that talk at the same time

    @property
    def nodes(self) -> Real:
        """Nodes, or NVLink domains, that the group spans."""
        return ceil(self.ranks / self.ranks_per_node)


@dataclass(frozen=True, slots=True)
class Path:
    """What a group's bytes go over: worked out once, for all algorithms and protocols."""

    group: Group
    nodes: Real
    intra_node: Real  # ring bandwidth of one GPU inside the node, bytes/s
    inter_node: Real  # what one node's NICs give the group, bytes/s, one direction
    rate: Real  # of a ring through both
    linked: Any  # inside the node it is NVLink all the way: true or false, or an array of them
    wire: Wire
    c: Coefficients


def path(group: Group, c: Coefficients) -> Path:
    """The path of a group; one machine without a network is one node."""
    machine = group.machine
    if machine.network.kind == "none":
        group = Group(machine, group.ranks, group.ranks, group.sharing)
    intra_node, inter_node = local(group, c), nic_rate(group, c)
    linked = (group.ranks_per_node <= machine.nvlink_domain) & (machine.gpu.link_bytes_per_s > 0)
    rate = in_turn(intra_node, inter_node, c.softness)
    return Path(group, group.nodes, intra_node, inter_node, rate, linked, wire_of(machine.network.kind, c), c)


def local(group: Group, c: Coefficients) -> Real:
    """Ring bandwidth of one GPU inside the node, bytes/s."""
    machine, local_ranks = group.machine, group.ranks_per_node
    share = nearest(c.link, machine.gpu.arch) * _share_of_links(machine, local_ranks)
    link = machine.gpu.link_bytes_per_s * share
    share = c.staged if GEFORCE.match(machine.gpu.name) else c.pcie
    pcie = PCIE_BYTES_PER_S.get(machine.gpu.pcie_gen, PCIE_BYTES_PER_S[4]) * share
    linked = (local_ranks <= machine.nvlink_domain) & (machine.gpu.link_bytes_per_s > 0)
    return pick(local_ranks > 1, pick(linked, link, pcie), UNLIMITED)


def _share_of_links(machine: Machine, local_ranks: Real) -> Real:
    """Without a switch, the links to GPUs outside the group are idle."""
    board = domain_size(machine)
    unswitched = board <= DIRECT_GPUS or (machine.gpu.arch == "Volta" and board <= BOARD_GPUS)
    if not unswitched or machine.nvlink_domain <= BRIDGED_GPUS:
        return 1.0
    return smaller(larger(local_ranks - 1, 1) / (board - 1), 1.0)


def nic_rate(group: Group, c: Coefficients) -> Real:
    """What one node's NICs give this group, bytes/s, one direction."""
    machine, network = group.machine, group.machine.network
    wire = wire_of(network.kind, c)
    nodes_per_domain = larger(machine.nvlink_domain / machine.gpus_per_node, 1.0)
    nics_per_gpu = larger(
        network.nics / machine.gpus_per_node, 1.0
    )  # rail-aligned: a GPU reaches its own NICs
    nics = smaller(network.nics * nodes_per_domain / group.sharing, group.ranks_per_node * nics_per_gpu)
    crowd = 1 + wire.congestion * log2(larger(group.nodes / 2, 1.0))
    rate = nics * network.nic_bytes_per_s * wire.efficiency / crowd / network.oversubscription
    return pick(group.nodes > 1, rate, UNLIMITED)


def wire_of(kind: str, c: Coefficients) -> Wire:
    """The coefficients of a kind of network; an unknown one is taken for RoCE."""
    return c.wire.get(kind) or c.wire["roce"]


def in_turn(a: Real, b: Real, softness: float) -> Real:
    """Bandwidth of two tiers in one pipeline: the slower one, less where both are near."""
    slow, fast = smaller(a, b), larger(a, b)
    return slow / (1 + (slow / fast) ** softness) ** (1 / softness)
