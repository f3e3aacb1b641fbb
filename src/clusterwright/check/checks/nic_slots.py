"""Each GPU has an adapter beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.check.bios import in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import Want
from clusterwright.check.facts.board import Board, Device, board
from clusterwright.check.facts.rdma_ports import has_rdma
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict

# As `nvidia-smi topo -m` calls them, nearest first: one switch, one host bridge, one NUMA node, another one.
_SWITCH, _BRIDGE, _NODE, _FAR = "PIX or PXB", "PHB", "NODE", "SYS"
_NEAR = (_SWITCH, _BRIDGE, _NODE, _FAR)
_MOST = 0.75  # ours: of the GPUs of a host; where half of them have an adapter beside them, it was built so
_SEVERAL = 2  # adapters: one alone has to serve all GPUs, wherever it is


def _both(want: Want) -> bool:
    return has_gpus(want) and has_rdma(want)


@check(
    board,
    when=_both,
    unless=in_lab,
    mend="move the adapter to the slot that it has on other hosts (`nvidia-smi topo -m` before and after)",
)
def nic_slots(_want: Want, have: Board) -> Iterator[Verdict]:
    """No GPU is further from its nearest RDMA adapter than three quarters of the host's GPUs are from theirs."""
    if guest := of_guest(have):
        yield guest
        return
    gpus = have.of("gpu")
    if len(have.rdma) < _SEVERAL or not gpus:
        yield skip("fewer than two RDMA adapters: there is no nearer one to choose")
        return
    ways = {gpu.address: min((_way(gpu, nic) for nic in have.rdma), key=_NEAR.index) for gpu in gpus}
    usual, many = Counter(ways.values()).most_common(1)[0]
    wanted = f"{usual}, as {many} of {len(gpus)} GPUs have it"
    faults = [
        fault(
            saw=f"the nearest adapter of the GPU at {gpu.where} is {ways[gpu.address]}",
            want=wanted,
            part=f"gpu {gpu.address}",
            otherwise=Status.WARN,
        )
        for gpu in gpus
        if many >= _MOST * len(gpus) and _NEAR.index(ways[gpu.address]) > _NEAR.index(usual)
    ]
    yield from faults or [
        fine(saw=", ".join(f"{ways[gpu.address]} of {gpu.address}" for gpu in gpus), want=wanted)
    ]


def _way(gpu: Device, nic: Device) -> str:
    if gpu.above[:1] == nic.above[:1]:
        # Host bridge, root port, and the switch's upstream port: what is common from there on is a switch.
        return _SWITCH if gpu.above[:3] == nic.above[:3] and len(gpu.above) > 3 else _BRIDGE
    return _NODE if gpu.numa == nic.numa >= 0 else _FAR
