"""GPUs and adapters use memory without a translation of every page."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import in_lab, of_guest, page
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.board import Board, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict

_WANTED = "no IOMMU, or one in pass-through (`identity`, by iommu=pt on the kernel's command line)"
_TOLD = ("iommu", "intel_iommu", "amd_iommu")


@check(board, when=has_gpus, unless=in_lab, mend="iommu=pt on the kernel's command line")
def iommu(_want: Want, have: Board) -> Iterator[Verdict]:
    """The IOMMU is off or passes through: translating, it sends GPUDirect round by the CPU, or stops it."""
    if guest := of_guest(have):
        yield guest
        return
    if not have.units:
        yield fine(saw=f"no IOMMU{_said(have)}", want=_WANTED)
        return
    peers = (*have.of("gpu"), *have.rdma)
    if not peers:
        yield skip("no GPU and no RDMA adapter on the PCI bus")
        return
    if not all(each.iommu for each in peers):
        yield unknown(f"the kernel does not say how its IOMMU treats them{_said(have)}", want=_WANTED)
        return
    through = [each for each in peers if each.iommu != "identity"]
    if not through:
        yield fine(saw=f"the IOMMU passes through{_said(have)}", want=_WANTED)
        return
    kinds = ", ".join(sorted({each.iommu for each in through}))
    yield fault(
        saw=f"the IOMMU translates for {len(through)} of {len(peers)} GPUs and adapters ({kinds}){_said(have)}",
        want=_WANTED,
        mend=f"GRUB_CMDLINE_LINUX: add iommu=pt, update-grub, reboot; or {page(have, 'iommu')}: Disabled"
        " (not on AMD with more than 255 CPUs, whose interrupts need it)",
        otherwise=Status.WARN,
    )


def _said(have: Board) -> str:
    told = [word for word in have.cmdline if word.partition("=")[0] in _TOLD]
    return f"; command line: {' '.join(told)}" if told else ""
