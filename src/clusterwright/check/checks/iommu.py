"""GPUs and adapters use memory without a translation of every page."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("no IOMMU, or one in pass-through (`identity`, by iommu=pt on the kernel's command line)")
_KERNEL_OPTIONS = ("iommu", "intel_iommu", "amd_iommu")


@check(board, when=has_gpus, unless=in_lab, fix="iommu=pt on the kernel's command line")
def iommu(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """The IOMMU is off or passes through: translating, it sends GPUDirect round by the CPU, or stops it."""
    if guest := of_guest(have):
        yield guest
        return
    if not have.units:
        yield fine(observed=_("no IOMMU{command_line}", command_line=_command_line(have)), expected=_EXPECTED)
        return
    peers = (*have.devices_by_kind("gpu"), *have.rdma)
    if not peers:
        yield skip(_("no GPU and no RDMA adapter on the PCI bus"))
        return
    if not all(device.iommu for device in peers):
        yield unknown(
            _(
                "the kernel does not say how its IOMMU treats them{command_line}",
                command_line=_command_line(have),
            ),
            expected=_EXPECTED,
        )
        return
    through = [device for device in peers if device.iommu != "identity"]
    if not through:
        yield fine(
            observed=_("the IOMMU passes through{command_line}", command_line=_command_line(have)),
            expected=_EXPECTED,
        )
        return
    kinds = ", ".join(sorted({device.iommu for device in through}))
    yield fault(
        observed=_(
            "the IOMMU translates for {count} of {count2} GPUs and adapters ({kinds}){command_line}",
            count=len(through),
            count2=len(peers),
            kinds=kinds,
            command_line=_command_line(have),
        ),
        expected=_EXPECTED,
        fix=_(
            "GRUB_CMDLINE_LINUX: add iommu=pt, update-grub, reboot; or {bios_menu}: Disabled "
            "(not on AMD with more than 255 CPUs, whose interrupts need it)",
            bios_menu=bios_menu(have, "iommu"),
        ),
        otherwise=Status.WARN,
    )


def _command_line(have: Board) -> str:
    options = [option for option in have.cmdline if option.partition("=")[0] in _KERNEL_OPTIONS]
    return _("; command line: {options}", options=" ".join(options)) if options else ""
