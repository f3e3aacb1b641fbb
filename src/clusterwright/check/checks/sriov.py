"""Adapters are shared by SR-IOV only where that is wanted."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, Device, board
from clusterwright.check.facts.rdma_ports import has_rdma
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


@check(
    board,
    when=has_rdma,
    unless=in_lab,
    fix="write 0 into the adapter's sriov_numvfs, and take out what sets it at boot",
)
def sriov(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Adapters of the compute network have virtual functions if the file says so, and else none.

    NCCL takes such a function for one more adapter, and halves what the port behind it gives.
    """
    if guest := of_guest(have):
        yield guest
        return
    if not have.rdma:
        yield skip(_("no RDMA adapter on the PCI bus (see rdma_links)"))
        return
    shared = spec.host.group.firmware.virtual_functions
    expected = _(
        "{ending} virtual functions (nodes.{group_name}.firmware.virtual_functions)",
        ending="some" if shared else "no",
        group_name=spec.host.group_name,
    )
    wrong = _missing if shared else _unwanted
    faults = [
        fault(observed=observed, expected=expected, part=adapter.rdma[0], fix=fix, otherwise=Status.WARN)
        for adapter in have.rdma
        for observed, fix in wrong(have, adapter)
    ]
    yield from faults or [
        fine(observed=_("{count} adapters as wanted", count=len(have.rdma)), expected=expected)
    ]


def _unwanted(_board: Board, adapter: Device) -> Iterator[tuple[str, str]]:
    if adapter.functions > 0:
        path = f"/sys/bus/pci/devices/{adapter.address}/sriov_numvfs"
        yield (
            _(
                "the adapter at {location} has {functions} virtual functions",
                location=adapter.location,
                functions=adapter.functions,
            ),
            _("`echo 0 > {path}`, and take out what sets it at boot", path=path),
        )


def _missing(board: Board, adapter: Device) -> Iterator[tuple[str, str]]:
    if adapter.functions_most <= 0:
        yield (
            _("the adapter at {location} cannot have any", location=adapter.location),
            _(
                "{bios_menu}: Enabled; and in the adapter: mlxconfig -d {address} set SRIOV_EN=1",
                bios_menu=bios_menu(board, "sriov"),
                address=adapter.address,
            ),
        )
    elif adapter.functions <= 0:
        path = f"/sys/bus/pci/devices/{adapter.address}/sriov_numvfs"
        yield (
            _(
                "the adapter at {location} has none of {functions_most}",
                location=adapter.location,
                functions_most=adapter.functions_most,
            ),
            _("write how many into {path}", path=path),
        )
