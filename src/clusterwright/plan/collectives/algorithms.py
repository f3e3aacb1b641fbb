"""Time of a collective: ring, tree and reduction in the switch, each by protocol; the fastest is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from clusterwright.plan.collectives.coefficients import Coefficients, nearest, stored
from clusterwright.plan.collectives.kinds import Kind, bus_factor, ring_steps
from clusterwright.plan.collectives.latency import PROTOCOLS, Protocol, far_step, near_step
from clusterwright.plan.collectives.links import UNLIMITED, Group, between, in_turn, local
from clusterwright.plan.numbers import ceil, larger, log2, pick, smaller

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Machine

    Algorithm: TypeAlias = Callable[[Kind, Real, Group, Coefficients, Protocol], Real]

NEVER = 1e9  # seconds: an algorithm that is not there
# Fewest GPUs of a node at which NCCL reduces in the NVLink switch: measured on H200 and B200 at 4 to 8 GPUs
# (ml-engineering, network/README); earlier switches cannot.
SWITCH_REDUCES_FROM = {"Hopper": 5, "Blackwell": 6, "Blackwell Ultra": 6, "Rubin": 6}
SWITCH_GPUS = 8  # boards with an NVLink switch have at least so many GPUs
TREE_BANDWIDTH = 0.92  # of a ring's (NCCL, src/graph/tuning.cc)


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
    if kind is Kind.ALL_TO_ALL:
        return {"pairwise": _pairwise(size, group, c)}
    if kind is Kind.SEND_RECV:
        return {"direct": _direct(size, group, c)}
    found = {"ring": _fastest(ring, kind, size, group, c)}
    if kind is Kind.ALL_REDUCE:
        found["tree"] = _fastest(tree, kind, size, group, c)
        found["nvls"] = in_switch(size, group, c)
    return found


def _fastest(algorithm: Algorithm, kind: Kind, size: Real, group: Group, c: Coefficients) -> Real:
    best: Real = NEVER
    for protocol in PROTOCOLS:
        best = smaller(best, algorithm(kind, size, group, c, protocol))
    return best


def ring(kind: Kind, size: Real, group: Group, c: Coefficients, protocol: Protocol) -> Real:
    """Every GPU passes pieces to the next; what crosses each link is what nccl-tests calls bus traffic."""
    steps = ring_steps(kind, group.ranks)
    far = pick(group.nodes > 1, steps * group.nodes / group.ranks, 0.0)
    latency = (steps - far) * near_step(group, protocol, c) + far * far_step(group, protocol, c)
    rate = in_turn(local(group, c), between(group, c), c.softness)
    return _filled(size * bus_factor(kind, group.ranks) / rate, latency, c, protocol)


def tree(kind: Kind, size: Real, group: Group, c: Coefficients, protocol: Protocol) -> Real:
    """Two binary trees over the nodes, a chain inside each: few steps, a little less bandwidth."""
    near = 2 * (group.ranks_per_node - 1) * near_step(group, protocol, c, tree=True)
    far = 2 * ceil(log2(group.nodes)) * far_step(group, protocol, c)
    rate = in_turn(local(group, c), between(group, c), c.softness) * TREE_BANDWIDTH
    time = _filled(size * bus_factor(kind, group.ranks) / rate, near + far, c, protocol)
    return pick(group.nodes > 1, time, NEVER)


def _filled(transfer: Real, latency: Real, c: Coefficients, protocol: Protocol) -> Real:
    """Latency, transfer, and the cost of filling a pipeline of chunks, which grows as the root of both."""
    start = c.launch_s + protocol.start_s
    transfer = transfer / (protocol.bandwidth or c.ll_bandwidth)
    return start + latency + 2 * c.ramp * (latency * transfer) ** 0.5 + transfer


def in_switch(size: Real, group: Group, c: Coefficients, *, sharp: bool = False) -> Real:
    """Reduced in the NVLink switch, then in trees over the nodes' NICs, or in the network's switches (SHARP)."""
    machine, here = group.machine, group.ranks_per_node
    fewest = SWITCH_REDUCES_FROM.get(machine.gpu.arch, 0)
    if not fewest or machine.nvlink_domain < SWITCH_GPUS:
        return NEVER + 0 * size
    near = machine.gpu.link_bytes_per_s * nearest(c.nvls, machine.gpu.arch)
    crossings = 1.0 if sharp else 2 * (group.nodes - 1) / group.nodes
    far = pick(group.nodes > 1, between(group, c) / larger(crossings, 0.5), UNLIMITED)
    steps = 2 * ceil(log2(group.nodes)) * far_step(group, PROTOCOLS[-1], c)
    latency = c.nvls_s + steps
    time = _filled(size / in_turn(near, far, c.softness), latency, c, PROTOCOLS[-1])
    return pick((here >= fewest) & (here <= machine.nvlink_domain), time, NEVER)


def _pairwise(size: Real, group: Group, c: Coefficients) -> Real:
    """Every GPU sends to every other; the part that leaves the node goes over its NICs."""
    inside = (group.ranks_per_node - 1) / group.ranks
    outside = (group.ranks - group.ranks_per_node) / group.ranks
    near = size * inside / local(group, c)
    far = size * outside * group.ranks_per_node / between(group, c)
    simple = PROTOCOLS[-1]
    latency = near_step(group, simple, c) + pick(group.nodes > 1, far_step(group, simple, c), 0.0)
    return _filled((near**c.softness + far**c.softness) ** (1 / c.softness), latency, c, simple)


def _direct(size: Real, group: Group, c: Coefficients) -> Real:
    """One GPU to the next: through the NICs where the group has several nodes."""
    rate = smaller(local(group, c), between(group, c) / group.ranks_per_node)
    step = pick(group.nodes > 1, far_step(group, PROTOCOLS[-1], c), near_step(group, PROTOCOLS[-1], c))
    return _filled(size / rate, step, c, PROTOCOLS[-1])
