"""PCIe traffic between GPUs and adapters is not redirected through the CPU (ACS)."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, Device, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _, _n

# Request redirect, completion redirect, egress control: the bits that Linux tests in drivers/pci/p2pdma.c.
_REDIRECTS = 0x4 | 0x8 | 0x20
_FEWEST = 2  # peers: peer-to-peer traffic needs two
_EXPECTED = N_(
    "ACS redirection off on every bridge (ReqRedir- CmpltRedir- EgressCtrl- in ACSCtl of `lspci -vvv`)"
)


@check(board, when=has_gpus, unless=in_lab, fix="disable ACS in the BIOS", in_jobs=True)
def acs(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """No bridge above GPUs and RDMA adapters redirects their peer-to-peer traffic (PCI Access Control Services).

    A PCIe switch with redirection sends the traffic up to the CPU and back: half the rate, or a hang. Behind a root
    port it takes that path anyway, so that is a warning.
    """
    if guest := of_guest(have):
        yield guest
        return
    peers = (*have.devices_by_kind("gpu"), *have.rdma)
    if len(peers) < _FEWEST:
        yield skip(_("fewer than two GPUs and RDMA adapters: no peer-to-peer traffic"))
        return
    above = {bridge.address: bridge for peer in peers for bridge in have.bridges_above(peer)}
    if any(bridge.acs is None for bridge in above.values()):
        yield unknown(
            _("the ACS capability of the bridges is not readable; run the check as root"),
            expected=_(_EXPECTED),
        )
        return
    faults = [
        _fault(have, bridge) for bridge in above.values() if (bridge.acs or 0) > 0 and _redirects(bridge)
    ]
    yield from faults or [
        fine(
            observed=_n(
                "{count} bridge without ACS redirection",
                "{count} bridges without ACS redirection",
                len(above),
            ),
            expected=_(_EXPECTED),
        )
    ]


def _redirects(bridge: Device) -> bool:
    return bool((bridge.acs or 0) & _REDIRECTS)


def _fault(have: Board, bridge: Device) -> Verdict:
    root = bridge.port == "root"
    fix = _("set {menu}: Disabled; until then run `setpci -s {address} ECAP_ACS+6.w=0000` after each boot")
    observed = (
        _("the root port at {address} has ACS redirection on (ACSCtl {acs:#06x})")
        if root
        else _("the switch port at {address} has ACS redirection on (ACSCtl {acs:#06x})")
    )
    return fault(
        observed=observed.format(address=bridge.address, acs=bridge.acs),
        expected=_(_EXPECTED),
        part=bridge.address,
        fix=fix.format(menu=bios_menu(have, "acs"), address=bridge.address),
        otherwise=Status.WARN if root else Status.FAIL,
    )
