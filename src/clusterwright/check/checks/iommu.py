"""The IOMMU is off or in pass-through mode for GPUs and RDMA adapters."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("IOMMU off, or in pass-through mode (`iommu=pt` on the kernel command line)")
_KERNEL_OPTIONS = ("iommu", "intel_iommu", "amd_iommu")


@check(
    board,
    when=has_gpus,
    unless=in_lab,
    fix="add `iommu=pt` to the kernel command line and reboot the host",
    in_jobs=True,
)
def iommu(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """The IOMMU is off or in pass-through mode; in translation mode it slows GPUDirect down or breaks it.

    Translation mode is a warning. Skipped in a virtual machine, and without GPUs and RDMA adapters.
    """
    if guest := of_guest(have):
        yield guest
        return
    if not have.units:
        yield fine(
            observed=_("no IOMMU{command_line}", command_line=_command_line(have)), expected=_(_EXPECTED)
        )
        return
    peers = (*have.devices_by_kind("gpu"), *have.rdma)
    if not peers:
        yield skip(_("no GPU and no RDMA adapter on the PCI bus"))
        return
    if not all(device.iommu for device in peers):
        yield unknown(
            _(
                "the kernel does not report the IOMMU domain type{command_line}",
                command_line=_command_line(have),
            ),
            expected=_(_EXPECTED),
        )
        return
    through = [device for device in peers if device.iommu != "identity"]
    if not through:
        yield fine(
            observed=_("IOMMU in pass-through mode{command_line}", command_line=_command_line(have)),
            expected=_(_EXPECTED),
        )
        return
    kinds = ", ".join(sorted({device.iommu for device in through}))
    yield fault(
        observed=_(
            "IOMMU in translation mode for {count} of {total} GPUs and adapters ({kinds}){command_line}",
            count=len(through),
            total=len(peers),
            kinds=kinds,
            command_line=_command_line(have),
        ),
        expected=_(_EXPECTED),
        fix=_(
            "add iommu=pt to GRUB_CMDLINE_LINUX, run `update-grub` and reboot; or set {menu}: Disabled "
            "(not on AMD hosts with more than 255 CPUs, whose interrupts need the IOMMU)",
            menu=bios_menu(have, "iommu"),
        ),
        otherwise=Status.WARN,
    )


def _command_line(have: Board) -> str:
    options = [option for option in have.cmdline if option.partition("=")[0] in _KERNEL_OPTIONS]
    return _("; kernel command line: {options}", options=" ".join(options)) if options else ""
