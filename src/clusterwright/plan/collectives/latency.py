"""Protocols of NCCL: what a step costs, and what share of the bandwidth is left for data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.numbers import pick, smaller

if TYPE_CHECKING:
    from clusterwright.plan.collectives.coefficients import Coefficients
    from clusterwright.plan.collectives.links import Path
    from clusterwright.plan.numbers import Real


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
