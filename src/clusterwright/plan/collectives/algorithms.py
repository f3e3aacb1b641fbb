"""Time of a collective: ring, tree and reduction in the switch, each by protocol; the fastest is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from clusterwright.plan.collectives.coefficients import Coefficients, nearest, stored
from clusterwright.plan.collectives.kinds import Kind, bus_factor, ring_steps
from clusterwright.plan.collectives.links import UNLIMITED, Group, Path, in_turn, path
from clusterwright.plan.numbers import ceil, larger, log2, pick, smaller

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Machine

    Algorithm: TypeAlias = "Callable[[Kind, Real, Path, Protocol], Real]"


@dataclass(frozen=True, slots=True)
class Protocol:
    """One of NCCL's; latencies of one step in seconds."""

    bandwidth: float  # share that carries data; 0: fitted
    start_s: float
    ring_s: float  # a step over NVLink
    tree_s: float
    pcie_s: float
    far: float  # share of the network's large-message step that a step between nodes takes


# NCCL's own table (src/graph/tuning.cc, baseLat and hwLat, of release 2.18); LL128 carries
# 120 bytes of data with 8 of flags. `far`: its 2.7, 4.0 and 14.0 us between nodes, less the 2.7, over 11.3.
PROTOCOLS = (
    Protocol(0.0, 6.6e-6, 0.6e-6, 0.6e-6, 1.0e-6, 0.0),
    Protocol(120 / 128, 14.0e-6, 1.9e-6, 1.25e-6, 1.9e-6, 0.115),
    Protocol(1.0, 8.4e-6, 3.4e-6, 4.0e-6, 5.7e-6, 1.0),
)
BESIDE = (
    3  # exponent: a launch is prepared while the kernel before it runs, so the longer of both counts most
)


def near_step(path: Path, protocol: Protocol, *, tree: bool = False) -> Real:
    """One step inside the node."""
    step = protocol.tree_s if tree else protocol.ring_s
    return path.c.latency_scale * pick(path.linked, step, protocol.pcie_s)


def far_step(path: Path, protocol: Protocol) -> float:
    """One step between nodes."""
    share = protocol.far if path.wire.rdma else 1.0
    return path.group.machine.network.latency_s + path.wire.delay_s + path.wire.step_s * share


def joined(size: Real, transfer: Real, steps: tuple[Real, Real], path: Path, protocol: Protocol) -> Real:
    """Steps (near, far) before the transfer, but for TCP's: those wait in threads of their own while others go."""
    near, far = steps
    if path.wire.rdma:
        return filled(size, transfer, near + far, path.c, protocol)
    return filled(size, (transfer**2 + far**2) ** 0.5, near, path.c, protocol)


def filled(
    size: Real, transfer: Real, latency: Real, c: Coefficients, protocol: Protocol, ramp: float | None = None
) -> Real:
    """Latency, transfer, and filling a pipeline of chunks: as the root of both, until NCCL's buffers are full."""
    transfer = transfer / (protocol.bandwidth or c.ll_bandwidth)
    flying = transfer * smaller(1.0, c.window_bytes / size)
    kernel = protocol.start_s + latency + 2 * (ramp or c.ramp) * (latency * flying) ** 0.5 + transfer
    return (kernel**BESIDE + c.launch_s**BESIDE) ** (1 / BESIDE)


SIMPLE = PROTOCOLS[-1]  # NCCL's protocol for large messages
NEVER = 1e9  # seconds: an algorithm that is not there
TINY = 1e-30  # seconds
IN_TURN = 8  # messages to single GPUs that follow one another; more go by other channels (NCCL batches 8 of a channel)
# Fewest GPUs of a node at which NCCL reduces in the NVLink switch: measured on H200 and B200 at 4 to 8 GPUs
# (ml-engineering, network/README); earlier switches cannot.
SWITCH_REDUCES_FROM = {"Hopper": 5, "Blackwell": 6, "Blackwell Ultra": 6, "Rubin": 6}
SWITCH_GPUS = 8  # boards with an NVLink switch have at least so many GPUs
# Of a ring's, inside a node: NCCL allows a channel of two nodes of A100 23.6 GB/s, of 8 channels 189 of a ring's 240
# (src/graph/tuning.cc, perChMaxTreeBws).
TREE_BANDWIDTH = 0.79
EARLY_TREES = {
    "Pascal",
    "Volta",
    "Turing",
}  # NCCL of their time took rings for large messages, two nodes or more


def seconds(
    kind: Kind | str,
    size_bytes: Real,
    machine: Machine,
    ranks: Real,
    ranks_per_node: Real,
    sharing: Real = 1.0,
) -> Real:
    """Seconds of one collective.

    Args:
        kind: one of `Kind`.
        size_bytes: as nccl-tests counts it: for all-gather and reduce-scatter the whole, not one rank's part.
        machine: the GPUs and what joins them.
        ranks: GPUs of the group; 1 costs nothing.
        ranks_per_node: of them in one node, or in one NVLink domain where that is larger than a node.
        sharing: such groups in one node (or domain) that run this at the same time and share its NICs.
    """
    group = Group(machine, ranks, ranks_per_node, sharing)
    best: Real = NEVER
    for time in times(Kind(kind), size_bytes, group, stored()).values():
        best = smaller(best, time)
    return pick(group.ranks > 1, best, 0.0)


def bus_bw_bytes_per_s(
    kind: Kind | str,
    size_bytes: Real,
    machine: Machine,
    ranks: Real,
    ranks_per_node: Real,
    sharing: Real = 1.0,
) -> Real:
    """Bus bandwidth as nccl-tests prints it, in bytes/s."""
    time = seconds(kind, size_bytes, machine, ranks, ranks_per_node, sharing)
    return size_bytes / larger(time, 1e-12) * bus_factor(Kind(kind), ranks)


def times(kind: Kind, size: Real, group: Group, c: Coefficients) -> dict[str, Real]:
    """Seconds by algorithm; at least `NEVER` for one that cannot be had."""
    over = path(group, c)
    if kind is Kind.ALL_TO_ALL:
        return {"pairwise": _pairwise(size, over)}
    if kind is Kind.SEND_RECV:
        return {"direct": _direct(size, over)}
    found = {"ring": _fastest(ring, kind, size, over)}
    if kind is Kind.ALL_REDUCE:
        found["tree"] = _fastest(tree, kind, size, over)
        found["nvls"] = in_switch(size, over)
    return found


def _fastest(algorithm: Algorithm, kind: Kind, size: Real, over: Path) -> Real:
    best: Real = NEVER
    for protocol in PROTOCOLS:
        best = smaller(best, algorithm(kind, size, over, protocol))
    return best


def ring(kind: Kind, size: Real, over: Path, protocol: Protocol) -> Real:
    """Every GPU passes pieces to the next; what crosses each link is what nccl-tests calls bus traffic."""
    ranks = over.group.ranks
    steps = ring_steps(kind, ranks)
    far = pick(over.nodes > 1, steps * over.nodes / ranks, 0.0)
    near = (steps - far) * near_step(over, protocol)
    transfer = size * bus_factor(kind, ranks) / over.rate
    return joined(size, transfer, (near, far * far_step(over, protocol)), over, protocol)


def tree(kind: Kind, size: Real, over: Path, protocol: Protocol) -> Real:
    """Two binary trees over the nodes, a chain inside each: few steps, a little less bandwidth."""
    near = 2 * (over.group.ranks_per_node - 1) * near_step(over, protocol, tree=True)
    far = 2 * ceil(log2(over.nodes)) * far_step(over, protocol)
    inside = size * bus_factor(kind, over.group.ranks) / over.near / TREE_BANDWIDTH
    rate = in_turn(size / larger(inside, TINY), _leaving(over) / _crossings(over), over.c.softness)
    return pick(over.nodes > 1, joined(size, size / rate, (near, far), over, protocol), NEVER)


def _crossings(over: Path) -> Real:
    """Times that the busiest node of two trees sends the whole message out: up in both, down to two in one of them."""
    if over.group.machine.gpu.arch in EARLY_TREES:
        return bus_factor(Kind.ALL_REDUCE, over.group.ranks)
    return smaller(larger(over.nodes / 2, 1.0), 2.0)


def _leaving(over: Path) -> Real:
    """Bytes/s of the NICs that trees out of one node, or NVLink domain, go over."""
    return over.far * smaller(1.0, over.c.heads / over.group.ranks_per_node)


def in_switch(size: Real, over: Path, *, sharp: bool = False) -> Real:
    """Reduced in the NVLink switch, then in trees over the nodes' NICs, or in the network's switches (SHARP)."""
    machine, here, c = over.group.machine, over.group.ranks_per_node, over.c
    fewest = SWITCH_REDUCES_FROM.get(machine.gpu.arch, 0)
    if not fewest or machine.nvlink_domain < SWITCH_GPUS or not machine.gpu.link_bytes_per_s:
        return NEVER + 0 * size
    near = machine.gpu.link_bytes_per_s * nearest(c.nvls, machine.gpu.arch)
    far = pick(over.nodes > 1, _leaving(over) / (1.0 if sharp else _crossings(over)), UNLIMITED)
    turns = pick(over.nodes > 1, 2, 1)  # up, and down again
    latency = turns * c.nvls_s * here / SWITCH_GPUS + 2 * ceil(log2(over.nodes)) * far_step(over, SIMPLE)
    time = filled(size, size / in_turn(near, far, c.softness), latency, c, SIMPLE, c.nvls_ramp)
    return pick((here >= fewest) & (here <= machine.nvlink_domain), time, NEVER)


def _pairwise(size: Real, over: Path) -> Real:
    """Every GPU sends to every other; the part that leaves the node goes over its NICs."""
    ranks, here, soft = over.group.ranks, over.group.ranks_per_node, over.c.softness
    near = size * (here - 1) / ranks / over.near
    far = size * (ranks - here) / ranks * here / over.far
    turns = smaller(larger(here - 1, 1), IN_TURN)  # a message to each neighbour
    latency = turns * near_step(over, SIMPLE)
    latency = latency + pick(over.nodes > 1, far_step(over, SIMPLE), 0.0)
    return filled(size, (near**soft + far**soft) ** (1 / soft), latency, over.c, SIMPLE)


def _direct(size: Real, over: Path) -> Real:
    """One GPU to the next: through the NICs where the group has several nodes."""
    rate = smaller(over.near, over.far / over.group.ranks_per_node)
    step = pick(over.nodes > 1, far_step(over, SIMPLE), near_step(over, SIMPLE))
    return filled(size, size / rate, step, over.c, SIMPLE)
