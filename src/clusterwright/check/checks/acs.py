"""Data between GPUs and adapters is not sent round by the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, Device, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

# Request redirect, completion redirect, egress control: what Linux asks in drivers/pci/p2pdma.c.
_REDIRECTS = 0x4 | 0x8 | 0x20
_FEWEST = 2  # peers: one alone has nobody to talk to
_EXPECTED = N_("no redirect (ReqRedir-, CmpltRedir-, EgressCtrl- in ACSCtl of `lspci -vvv`)")


@check(board, when=has_gpus, unless=in_lab, fix="switch ACS off in the BIOS")
def acs(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """No bridge above GPUs and RDMA adapters redirects what they send to each other (PCI Access Control Services).

    A switch that redirects sends it up to the CPU and back: half the rate, or a hang. On a root port the detour is
    there anyway, so that is a warning.
    """
    if guest := of_guest(have):
        yield guest
        return
    peers = (*have.devices_by_kind("gpu"), *have.rdma)
    if len(peers) < _FEWEST:
        yield skip(_("no two GPUs or adapters that could talk to each other"))
        return
    above = {bridge.address: bridge for peer in peers for bridge in have.bridges_above(peer)}
    if any(bridge.acs is None for bridge in above.values()):
        yield unknown(_("only root may read the capabilities of a bridge"), expected=_EXPECTED)
        return
    faults = [
        _fault(have, bridge) for bridge in above.values() if (bridge.acs or 0) > 0 and _redirects(bridge)
    ]
    yield from faults or [
        fine(observed=_("{count} bridges, none redirects", count=len(above)), expected=_EXPECTED)
    ]


def _redirects(bridge: Device) -> bool:
    return bool((bridge.acs or 0) & _REDIRECTS)


def _fault(have: Board, bridge: Device) -> Verdict:
    root = bridge.port == "root"
    now = _("until then, at each boot: setpci -s {address} ECAP_ACS+6.w=0000", address=bridge.address)
    return fault(
        observed=_(
            "the {ending} at {address} redirects (ACSCtl {acs:#06x})",
            ending="root port" if root else "switch port",
            address=bridge.address,
            acs=bridge.acs,
        ),
        expected=_EXPECTED,
        part=bridge.address,
        fix=f"{bios_menu(have, 'acs')}: Disabled; {now}",
        otherwise=Status.WARN if root else Status.FAIL,
    )
