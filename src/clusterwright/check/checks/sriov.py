"""RDMA adapters have SR-IOV virtual functions only if declared."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, Device, board
from clusterwright.check.facts.rdma_ports import has_rdma
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _, _n


@check(
    board,
    when=has_rdma,
    unless=in_lab,
    fix="write 0 to the adapter's sriov_numvfs in /sys, and remove what sets it at boot",
)
def sriov(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """RDMA adapters have SR-IOV virtual functions if the cluster file declares them, otherwise none.

    A difference is a warning. NCCL treats a virtual function as another adapter, so that two share the bandwidth of one
    port.
    """
    if guest := of_guest(have):
        yield guest
        return
    if not have.rdma:
        yield skip(_("no RDMA adapter on the PCI bus; see the check rdma_links"))
        return
    shared = spec.host.group.firmware.virtual_functions
    field = f"nodes.{spec.host.group_name}.firmware.virtual_functions"
    expected = (
        _("virtual functions on ({field})", field=field)
        if shared
        else _("no virtual functions ({field})", field=field)
    )
    wrong = _missing if shared else _unwanted
    faults = [
        fault(observed=observed, expected=expected, part=adapter.rdma[0], fix=fix, otherwise=Status.WARN)
        for adapter in have.rdma
        for observed, fix in wrong(have, adapter)
    ]
    yield from faults or [
        fine(
            observed=_n("{count} adapter as declared", "{count} adapters as declared", len(have.rdma)),
            expected=expected,
        )
    ]


def _unwanted(_board: Board, adapter: Device) -> Iterator[tuple[str, str]]:
    if adapter.functions > 0:
        path = f"/sys/bus/pci/devices/{adapter.address}/sriov_numvfs"
        yield (
            _(
                "virtual functions of the adapter at {location}: {count}",
                location=adapter.location,
                count=adapter.functions,
            ),
            _("run `echo 0 > {path}`, and remove what sets it at boot", path=path),
        )


def _missing(board: Board, adapter: Device) -> Iterator[tuple[str, str]]:
    if adapter.functions_most <= 0:
        yield (
            _("the adapter at {location} supports no virtual functions", location=adapter.location),
            _(
                "set {menu}: Enabled, and run `mlxconfig -d {address} set SRIOV_EN=1`",
                menu=bios_menu(board, "sriov"),
                address=adapter.address,
            ),
        )
    elif adapter.functions <= 0:
        path = f"/sys/bus/pci/devices/{adapter.address}/sriov_numvfs"
        yield (
            _(
                "the adapter at {location} has 0 of {most} virtual functions",
                location=adapter.location,
                most=adapter.functions_most,
            ),
            _("write the number of virtual functions to {path}", path=path),
        )
