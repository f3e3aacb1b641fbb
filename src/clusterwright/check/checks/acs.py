"""Data between GPUs and adapters is not sent round by the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import in_lab, of_guest, page
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.board import Board, Device, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict

# Request redirect, completion redirect, egress control: what Linux asks in drivers/pci/p2pdma.c.
_REDIRECTS = 0x4 | 0x8 | 0x20
_FEWEST = 2  # peers: one alone has nobody to talk to
_WANTED = "no redirect (ReqRedir-, CmpltRedir-, EgressCtrl- in ACSCtl of `lspci -vvv`)"


@check(board, when=has_gpus, unless=in_lab, mend="switch ACS off in the BIOS")
def acs(_want: Want, have: Board) -> Iterator[Verdict]:
    """No bridge above GPUs and RDMA adapters redirects what they send to each other (PCI Access Control Services).

    A switch that redirects sends it up to the CPU and back: half the rate, or a hang. On a root port the detour is
    there anyway, so that is a warning.
    """
    if guest := of_guest(have):
        yield guest
        return
    peers = (*have.of("gpu"), *have.rdma)
    if len(peers) < _FEWEST:
        yield skip("no two GPUs or adapters that could talk to each other")
        return
    above = {each.address: each for peer in peers for each in have.bridges_above(peer)}
    if any(each.acs is None for each in above.values()):
        yield unknown("only root may read the capabilities of a bridge", want=_WANTED)
        return
    faults = [_fault(have, each) for each in above.values() if (each.acs or 0) > 0 and _redirects(each)]
    yield from faults or [fine(saw=f"{len(above)} bridges, none redirects", want=_WANTED)]


def _redirects(bridge: Device) -> bool:
    return bool((bridge.acs or 0) & _REDIRECTS)


def _fault(have: Board, bridge: Device) -> Verdict:
    root = bridge.port == "root"
    now = f"until then, at each boot: setpci -s {bridge.address} ECAP_ACS+6.w=0000"
    return fault(
        saw=f"the {'root port' if root else 'switch port'} at {bridge.address} redirects (ACSCtl {bridge.acs:#06x})",
        want=_WANTED,
        part=bridge.address,
        mend=f"{page(have, 'acs')}: Disabled; {now}",
        otherwise=Status.WARN if root else Status.FAIL,
    )
