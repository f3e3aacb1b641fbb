"""Time of a collective: ring, tree and in-switch reduction (NVLS, SHARP) by NCCL protocol; the fastest counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from clusterwright.plan.collectives.coefficients import Coefficients, nearest, stored
from clusterwright.plan.collectives.kinds import Collective, bus_factor, ring_steps
from clusterwright.plan.collectives.links import UNLIMITED, Path, RankGroup, in_turn, path
from clusterwright.plan.numbers import ceil, larger, log2, pick, smaller

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Machine

    Algorithm: TypeAlias = "Callable[[Collective, Real, Path, Protocol], Real]"


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol of NCCL (LL, LL128, Simple); latencies of one step in seconds."""

    bandwidth: float  # share of the bandwidth that carries data; 0: fitted
    start_s: float
    ring_s: float  # one ring step over NVLink
    tree_s: float
    pcie_s: float
    inter_node_share: float  # latency of a step between nodes, over that of the Simple protocol


# NCCL's table (src/graph/tuning.cc, baseLat and hwLat, of release 2.18); LL128 carries
# 120 bytes of data with 8 of flags. Last column: its 2.7, 4.0 and 14.0 us between nodes, less the 2.7, over 11.3.
PROTOCOLS = (
    Protocol(0.0, 6.6e-6, 0.6e-6, 0.6e-6, 1.0e-6, 0.0),
    Protocol(120 / 128, 14.0e-6, 1.9e-6, 1.25e-6, 1.9e-6, 0.115),
    Protocol(1.0, 8.4e-6, 3.4e-6, 4.0e-6, 5.7e-6, 1.0),
)
OVERLAP_EXPONENT = 3  # a launch is prepared while the previous kernel runs: the longer of both dominates


def intra_node_step(path: Path, protocol: Protocol, *, tree: bool = False) -> Real:
    """Return the latency in seconds of one step between GPUs of a node, over NVLink or PCIe.

    With `tree` that of the tree algorithm over NVLink, else of the ring; over PCIe they are equal.
    """
    step = protocol.tree_s if tree else protocol.ring_s
    return path.c.latency_scale * pick(path.linked, step, protocol.pcie_s)


def inter_node_step(path: Path, protocol: Protocol) -> float:
    """Return the latency in seconds of one step between nodes: network, and the protocol's share of the NIC's step."""
    share = protocol.inter_node_share if path.wire.rdma else 1.0
    return path.group.machine.network.latency_s + path.wire.delay_s + path.wire.step_s * share


def joined(size: Real, transfer: Real, steps: tuple[Real, Real], path: Path, protocol: Protocol) -> Real:
    """Return the seconds of a collective from its transfer time and `steps`, the (intra-node, inter-node) latencies.

    With RDMA the latencies are added; with TCP the inter-node latency overlaps with the transfer.
    """
    intra_node, inter_node = steps
    if path.wire.rdma:
        return filled(size, transfer, intra_node + inter_node, path.c, protocol)
    return filled(size, (transfer**2 + inter_node**2) ** 0.5, intra_node, path.c, protocol)


def filled(
    size: Real, transfer: Real, latency: Real, c: Coefficients, protocol: Protocol, ramp: float | None = None
) -> Real:
    """Return the seconds of a kernel: latency, transfer, and filling NCCL's pipeline of chunks (sqrt of their product).

    The transfer is slowed to the protocol's bandwidth; the result is not below a kernel launch. `ramp` weighs the
    filling (default: `c.ramp`).
    """
    transfer = transfer / (protocol.bandwidth or c.ll_bandwidth)
    flying = transfer * smaller(1.0, c.window_bytes / size)
    kernel = protocol.start_s + latency + 2 * (ramp or c.ramp) * (latency * flying) ** 0.5 + transfer
    return (kernel**OVERLAP_EXPONENT + c.launch_s**OVERLAP_EXPONENT) ** (1 / OVERLAP_EXPONENT)


SIMPLE = PROTOCOLS[-1]  # NCCL's protocol for large messages
UNAVAILABLE_S = 1e9  # seconds of an algorithm that is not available
TINY = 1e-30  # seconds
IN_TURN = 8  # consecutive point-to-point messages of a channel; more use other channels (NCCL batches 8 per channel)
# Fewest GPUs of a node at which NCCL reduces in the NVLink switch: measured on H200 and B200 at 4 to 8 GPUs
# (ml-engineering, network/README); earlier switches cannot.
SWITCH_REDUCES_FROM = {"Hopper": 5, "Blackwell": 6, "Blackwell Ultra": 6, "Rubin": 6}
SWITCH_GPUS = 8  # boards with an NVLink switch have at least this many GPUs
# Over a ring's, within a node: NCCL allows a channel of two nodes of A100 23.6 GB/s, of 8 channels 189 of a ring's 240
# (src/graph/tuning.cc, perChMaxTreeBws).
TREE_BANDWIDTH = 0.79
EARLY_TREES = {
    "Pascal",
    "Volta",
    "Turing",
}  # NCCL of their time used rings for large messages on two nodes or more


def seconds(
    kind: Collective | str,
    size_bytes: Real,
    machine: Machine,
    ranks: Real,
    ranks_per_node: Real,
    sharing: Real = 1.0,
) -> Real:
    """Predict the time of one collective in seconds, with NCCL's fastest algorithm and protocol.

    Args:
        kind: the operation, of `Collective`.
        size_bytes: as in nccl-tests: for all-gather and reduce-scatter the whole buffer, not one rank's part.
        machine: the GPUs and their interconnect.
        ranks: GPUs of the group; 1 takes 0 s.
        ranks_per_node: ranks in one node, or in one NVLink domain if that is larger than a node.
        sharing: groups in one node (or domain) that run the collective at the same time and share its NICs.
    """
    group = RankGroup(machine, ranks, ranks_per_node, sharing)
    best: Real = UNAVAILABLE_S
    for time in times(Collective(kind), size_bytes, group, stored()).values():
        best = smaller(best, time)
    return pick(group.ranks > 1, best, 0.0)


def bus_bw_bytes_per_s(
    kind: Collective | str,
    size_bytes: Real,
    machine: Machine,
    ranks: Real,
    ranks_per_node: Real,
) -> Real:
    """Predict the bus bandwidth of a collective as nccl-tests prints it, in bytes/s; arguments as for `seconds`."""
    time = seconds(kind, size_bytes, machine, ranks, ranks_per_node)
    return size_bytes / larger(time, 1e-12) * bus_factor(Collective(kind), ranks)


def times(kind: Collective, size: Real, group: RankGroup, c: Coefficients) -> dict[str, Real]:
    """Return the seconds of a collective by algorithm, all at least `UNAVAILABLE_S` where it is not available.

    All-reduce has ring, tree and nvls; all-to-all only pairwise; send-receive only direct; every other kind only ring.
    """
    over = path(group, c)
    if kind is Collective.ALL_TO_ALL:
        return {"pairwise": _pairwise(size, over)}
    if kind is Collective.SEND_RECV:
        return {"direct": _direct(size, over)}
    times_by_algorithm = {"ring": _fastest(ring, kind, size, over)}
    if kind is Collective.ALL_REDUCE:
        times_by_algorithm["tree"] = _fastest(tree, kind, size, over)
        times_by_algorithm["nvls"] = in_switch(size, over)
    return times_by_algorithm


def _fastest(algorithm: Algorithm, kind: Collective, size: Real, over: Path) -> Real:
    best: Real = UNAVAILABLE_S
    for protocol in PROTOCOLS:
        best = smaller(best, algorithm(kind, size, over, protocol))
    return best


def ring(kind: Collective, size: Real, over: Path, protocol: Protocol) -> Real:
    """Return the seconds of a ring algorithm: every GPU passes pieces to the next.

    Each link carries nccl-tests' bus traffic.
    """
    ranks = over.group.ranks
    steps = ring_steps(kind, ranks)
    inter_node = pick(over.nodes > 1, steps * over.nodes / ranks, 0.0)
    intra_node = (steps - inter_node) * intra_node_step(over, protocol)
    transfer = size * bus_factor(kind, ranks) / over.rate
    return joined(size, transfer, (intra_node, inter_node * inter_node_step(over, protocol)), over, protocol)


def tree(kind: Collective, size: Real, over: Path, protocol: Protocol) -> Real:
    """Return the seconds of an all-reduce by NCCL's double binary tree over the nodes, with a chain within each.

    Few steps, less bandwidth than a ring. `UNAVAILABLE_S` on one node.
    """
    intra_node = 2 * (over.group.ranks_per_node - 1) * intra_node_step(over, protocol, tree=True)
    inter_node = 2 * ceil(log2(over.nodes)) * inter_node_step(over, protocol)
    inside = size * bus_factor(kind, over.group.ranks) / over.intra_node / TREE_BANDWIDTH
    rate = in_turn(size / larger(inside, TINY), _leaving(over) / _crossings(over), over.c.softness)
    return pick(
        over.nodes > 1, joined(size, size / rate, (intra_node, inter_node), over, protocol), UNAVAILABLE_S
    )


def _crossings(over: Path) -> Real:
    """Return how often the busiest node of two trees sends the whole message out: 1 on two nodes, up to 2 on more.

    GPUs up to Turing count as a ring.
    """
    if over.group.machine.gpu.arch in EARLY_TREES:
        return bus_factor(Collective.ALL_REDUCE, over.group.ranks)
    return smaller(larger(over.nodes / 2, 1.0), 2.0)


def _leaving(over: Path) -> Real:
    """Return the bytes/s of the NICs through which trees leave one node or NVLink domain."""
    return over.inter_node * smaller(1.0, over.c.heads / over.group.ranks_per_node)


def in_switch(size: Real, over: Path, *, sharp: bool = False) -> Real:
    """Return the seconds of an all-reduce in the NVLink switch (NVLS), then in trees between nodes (`sharp`: in SHARP).

    At least `UNAVAILABLE_S` if the GPUs have no NVLink switch that reduces, or the domain has too few ranks.
    """
    machine, local_ranks, c = over.group.machine, over.group.ranks_per_node, over.c
    fewest = SWITCH_REDUCES_FROM.get(machine.gpu.arch, 0)
    if not fewest or machine.nvlink_domain < SWITCH_GPUS or not machine.gpu.link_bytes_per_s:
        return UNAVAILABLE_S + 0 * size
    intra_node = machine.gpu.link_bytes_per_s * nearest(c.nvls, machine.gpu.arch)
    inter_node = pick(over.nodes > 1, _leaving(over) / (1.0 if sharp else _crossings(over)), UNLIMITED)
    turns = pick(over.nodes > 1, 2, 1)  # up, and down again
    latency = turns * c.nvls_s * local_ranks / SWITCH_GPUS + 2 * ceil(log2(over.nodes)) * inter_node_step(
        over, SIMPLE
    )
    time = filled(size, size / in_turn(intra_node, inter_node, c.softness), latency, c, SIMPLE, c.nvls_ramp)
    return pick((local_ranks >= fewest) & (local_ranks <= machine.nvlink_domain), time, UNAVAILABLE_S)


def _pairwise(size: Real, over: Path) -> Real:
    """Predict the seconds of an all-to-all of `size` bytes, in which every GPU sends to every other.

    What leaves the node uses its NICs.
    """
    ranks, local_ranks, soft = over.group.ranks, over.group.ranks_per_node, over.c.softness
    intra_node = size * (local_ranks - 1) / ranks / over.intra_node
    inter_node = size * (ranks - local_ranks) / ranks * local_ranks / over.inter_node
    turns = smaller(larger(local_ranks - 1, 1), IN_TURN)  # a message to each neighbor
    latency = turns * intra_node_step(over, SIMPLE)
    latency = latency + pick(over.nodes > 1, inter_node_step(over, SIMPLE), 0.0)
    return filled(size, (intra_node**soft + inter_node**soft) ** (1 / soft), latency, over.c, SIMPLE)


def _direct(size: Real, over: Path) -> Real:
    """Return the seconds of a send/recv from each GPU to the next, over NICs if the group spans several nodes."""
    rate = smaller(over.intra_node, over.inter_node / over.group.ranks_per_node)
    step = pick(over.nodes > 1, inter_node_step(over, SIMPLE), intra_node_step(over, SIMPLE))
    return filled(size, size / rate, step, over.c, SIMPLE)
