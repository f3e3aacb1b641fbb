"""Adapters reach the memory of GPUs."""

from __future__ import annotations

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.rdma_modules import RdmaModules, rdma_modules
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


def _does_rdma(spec: HostSpec) -> bool:
    network = spec.cluster.networks.compute
    return spec.host.group.gpus is not None and network is not None and network.kind != "ethernet"


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's adapters and GPUs are simulated: no module joins them") if spec.cluster.lab else ""


@check(
    rdma_modules,
    when=_does_rdma,
    unless=_in_lab,
    fix="modprobe nvidia-peermem; if it says `Invalid argument`, install MOFED before the driver and build it again",
)
def peer_memory(spec: HostSpec, have: RdmaModules) -> Verdict:
    """Nvidia_peermem is loaded, or the driver's open modules offer DMA-BUF: else NCCL copies through the host."""
    kind = spec.cluster.networks.compute.kind if spec.cluster.networks.compute else ""
    expected = _("GPUDirect RDMA, since the compute network is {kind} (networks.compute.kind)", kind=kind)
    if have.peer:
        return fine(observed=_("{peer} is loaded", peer=have.peer), expected=expected)
    if have.open_driver:
        # NCCL takes DMA-BUF since 2.12 on kernels from 5.12; whether it really does is said by its bench.
        return fine(
            observed=_("no peer module, but the open driver, which offers DMA-BUF"), expected=expected
        )
    return fault(
        observed=_("neither nvidia_peermem nor nv_peer_mem is loaded"),
        expected=expected,
        otherwise=Status.FAIL,
    )
