"""Each GPU has a near RDMA adapter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.check.bios import in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, Device, board
from clusterwright.check.facts.rdma_ports import has_rdma
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

# As in `nvidia-smi topo -m`, nearest first: same PCIe switch, same host bridge, same NUMA node, other NUMA node.
_SWITCH, _BRIDGE, _NODE, _SYS = "PIX or PXB", "PHB", "NODE", "SYS"
_BY_DISTANCE = (_SWITCH, _BRIDGE, _NODE, _SYS)
_MOST = 0.75  # ours: share of a host's GPUs; where only half have a near adapter, the server was designed so
_SEVERAL = 2  # adapters: a single one serves all GPUs


def _has_gpus_and_rdma(spec: HostSpec) -> bool:
    return has_gpus(spec) and has_rdma(spec)


@check(
    board,
    when=_has_gpus_and_rdma,
    unless=in_lab,
    fix="move the adapter to the slot that it has on other hosts; compare `nvidia-smi topo -m` before and after",
)
def nic_slots(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """No GPU is farther from its nearest RDMA adapter than three quarters of the host's GPUs from theirs.

    Otherwise a warning; skipped with fewer than two adapters, and in a virtual machine.
    """
    if guest := of_guest(have):
        yield guest
        return
    gpus = have.devices_by_kind("gpu")
    if len(have.rdma) < _SEVERAL or not gpus:
        yield skip(_("the host has fewer than two RDMA adapters"))
        return
    distances = {
        gpu.address: min((_distance(gpu, nic) for nic in have.rdma), key=_BY_DISTANCE.index) for gpu in gpus
    }
    usual, count = Counter(distances.values()).most_common(1)[0]
    expected = _(
        "the nearest RDMA adapter is at distance {distance}, as for {count} of {total} GPUs",
        distance=usual,
        count=count,
        total=len(gpus),
    )
    faults = [
        fault(
            observed=_(
                "the nearest RDMA adapter of the GPU at {location} is at distance {distance}",
                location=gpu.location,
                distance=distances[gpu.address],
            ),
            expected=expected,
            part=f"gpu {gpu.address}",
            otherwise=Status.WARN,
        )
        for gpu in gpus
        if count >= _MOST * len(gpus)
        and _BY_DISTANCE.index(distances[gpu.address]) > _BY_DISTANCE.index(usual)
    ]
    yield from faults or [
        fine(
            observed=", ".join(f"{gpu.address}: {distances[gpu.address]}" for gpu in gpus), expected=expected
        )
    ]


def _distance(gpu: Device, nic: Device) -> str:
    if gpu.above[:1] == nic.above[:1]:
        # Same host bridge, root port and upstream port: both are below one PCIe switch.
        return _SWITCH if gpu.above[:3] == nic.above[:3] and len(gpu.above) > 3 else _BRIDGE
    return _NODE if gpu.numa == nic.numa >= 0 else _SYS
