"""Bandwidth of the two tiers below a collective: links within a node (or NVLink rack), NICs between nodes."""

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

UNLIMITED = 1e30  # bytes/s of a tier that the group does not use
BOARD_GPUS = 8  # of NVLink 2 boards without a switch (DGX-1)
DIRECT_GPUS = 4  # boards of up to four GPUs link each pair directly; larger ones have a switch


BRIDGED_GPUS = 2  # cards with one bridge use all of its links
GEFORCE = re.compile(r"(rtx|gtx)-\d0[5-9]0")  # the driver allows them no peer-to-peer access


def domain_size(machine: Machine) -> int:
    """Return how many GPUs communicate without a NIC: those of a node, or of an NVLink domain if larger."""
    return max(machine.nvlink_domain, machine.gpus_per_node)


@dataclass(frozen=True, slots=True)
class RankGroup:
    """The GPUs of one communicator on a machine; fields are numbers or equally shaped arrays."""

    machine: Machine
    ranks: Real
    ranks_per_node: Real  # of the group in one node, or in one NVLink domain if larger
    sharing: Real = 1.0  # groups in one node (or domain) that communicate at the same time

    @property
    def nodes(self) -> Real:
        """Number of nodes, or NVLink domains, that the group spans."""
        return ceil(self.ranks / self.ranks_per_node)


@dataclass(frozen=True, slots=True)
class Path:
    """Bandwidths between the GPUs of a group, computed once for all algorithms and protocols."""

    group: RankGroup
    nodes: Real
    intra_node: Real  # ring bandwidth of one GPU inside the node, bytes/s
    inter_node: Real  # of one node's NICs for the group, bytes/s, one direction
    rate: Real  # of a ring through both tiers
    linked: Any  # whether all links within the node are NVLink: bool or array
    wire: Wire
    c: Coefficients


def path(group: RankGroup, c: Coefficients) -> Path:
    """Return the bandwidths, in bytes/s, that a group of ranks has within nodes and between them.

    A machine without a network counts as one node.
    """
    machine = group.machine
    if machine.network.kind == "none":
        group = RankGroup(machine, group.ranks, group.ranks, group.sharing)
    intra_node, inter_node = local(group, c), nic_rate(group, c)
    linked = (group.ranks_per_node <= machine.nvlink_domain) & (machine.gpu.link_bytes_per_s > 0)
    rate = in_turn(intra_node, inter_node, c.softness)
    return Path(group, group.nodes, intra_node, inter_node, rate, linked, wire_of(machine.network.kind, c), c)


def local(group: RankGroup, c: Coefficients) -> Real:
    """Ring bandwidth of one GPU within the node, over NVLink or PCIe, in bytes/s; `UNLIMITED` for one rank per node."""
    machine, local_ranks = group.machine, group.ranks_per_node
    share = nearest(c.link, machine.gpu.arch) * _share_of_links(machine, local_ranks)
    link = machine.gpu.link_bytes_per_s * share
    share = c.staged if GEFORCE.match(machine.gpu.name) else c.pcie
    pcie = PCIE_BYTES_PER_S.get(machine.gpu.pcie_gen, PCIE_BYTES_PER_S[4]) * share
    linked = (local_ranks <= machine.nvlink_domain) & (machine.gpu.link_bytes_per_s > 0)
    return pick(local_ranks > 1, pick(linked, link, pcie), UNLIMITED)


def _share_of_links(machine: Machine, local_ranks: Real) -> Real:
    """Share, 0 to 1, of a GPU's NVLinks that the group uses: below 1 only on boards without an NVLink switch.

    There, links to GPUs outside the group are idle; bridged pairs and boards with a switch have 1.
    """
    board = domain_size(machine)
    unswitched = board <= DIRECT_GPUS or (machine.gpu.arch == "Volta" and board <= BOARD_GPUS)
    if not unswitched or machine.nvlink_domain <= BRIDGED_GPUS:
        return 1.0
    return smaller(larger(local_ranks - 1, 1) / (board - 1), 1.0)


def nic_rate(group: RankGroup, c: Coefficients) -> Real:
    """Return the bandwidth in bytes/s, one direction, that a node's NICs have for the group.

    Congestion and oversubscription are included. `UNLIMITED` for a group in one node.
    """
    machine, network = group.machine, group.machine.network
    wire = wire_of(network.kind, c)
    nodes_per_domain = larger(machine.nvlink_domain / machine.gpus_per_node, 1.0)
    nics_per_gpu = larger(network.nics / machine.gpus_per_node, 1.0)  # rail-aligned: a GPU uses its own NICs
    nics = smaller(network.nics * nodes_per_domain / group.sharing, group.ranks_per_node * nics_per_gpu)
    crowd = 1 + wire.congestion * log2(larger(group.nodes / 2, 1.0))
    rate = nics * network.nic_bytes_per_s * wire.efficiency / crowd / network.oversubscription
    return pick(group.nodes > 1, rate, UNLIMITED)


def wire_of(kind: str, c: Coefficients) -> Wire:
    """Return the coefficients of a kind of network; an unknown kind counts as RoCE."""
    return c.wire.get(kind) or c.wire["roce"]


def in_turn(a: Real, b: Real, softness: float) -> Real:
    """Return the bandwidth of two tiers that data passes in one pipeline: the slower, less where both are similar."""
    slow, fast = smaller(a, b), larger(a, b)
    return slow / (1 + (slow / fast) ** softness) ** (1 / softness)
