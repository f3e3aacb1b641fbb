"""GPUDirect RDMA is available."""

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
    return _("adapters and GPUs of a lab are simulated") if spec.cluster.lab else ""


@check(
    rdma_modules,
    when=_does_rdma,
    unless=_in_lab,
    fix="run `modprobe nvidia-peermem`; on `Invalid argument` install MOFED, then reinstall the NVIDIA driver",
)
def peer_memory(spec: HostSpec, have: RdmaModules) -> Verdict:
    """Nvidia_peermem is loaded, or the open kernel modules offer DMA-BUF; otherwise NCCL copies through host memory."""
    kind = spec.cluster.networks.compute.kind if spec.cluster.networks.compute else ""
    expected = _("GPUDirect RDMA for the {kind} network (networks.compute.kind)", kind=kind)
    if have.peer:
        return fine(observed=_("{module} is loaded", module=have.peer), expected=expected)
    if have.open_driver:
        # NCCL uses DMA-BUF since 2.12 on kernels from 5.12; `wright bench` shows whether it does.
        return fine(
            observed=_("no peer memory module, but the open kernel modules, which offer DMA-BUF"),
            expected=expected,
        )
    return fault(
        observed=_("neither nvidia_peermem nor nv_peer_mem is loaded"),
        expected=expected,
        otherwise=Status.FAIL,
    )
