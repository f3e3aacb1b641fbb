"""GPUs show the CPU all of their memory."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import in_lab, of_guest, page
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.board import Board, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.units import MiB

_WANTED = "the largest window that the GPU offers (its Resizable BAR capability)"


@check(board, when=has_gpus, unless=in_lab, mend="switch Re-Size BAR Support on in the BIOS")
def resizable_bar(_want: Want, have: Board) -> Iterator[Verdict]:
    """A GPU whose window can be resized has the largest: else transfers between GPUs go through a small one."""
    if guest := of_guest(have):
        yield guest
        return
    gpus = have.of("gpu")
    if gpus and all(gpu.acs is None for gpu in gpus):
        yield unknown("only root may read the capabilities of a GPU", want=_WANTED)
        return
    mend = f"{page(have, 'resizable_bar')}: Enabled (with {page(have, 'above_4g')})"
    faults = [
        fault(
            saw=f"the GPU at {gpu.where} shows {bar.now // MiB} of {bar.most // MiB} MiB (BAR {bar.bar})",
            want=_WANTED,
            part=f"gpu {gpu.address}",
            mend=mend,
            otherwise=Status.WARN,
        )
        for gpu in gpus
        for bar in gpu.resizable
        if bar.now < bar.most
    ]
    able = sum(bool(gpu.resizable) for gpu in gpus)
    if not able:
        yield skip("no GPU here has a window that can be resized")
        return
    yield from faults or [fine(saw=f"{able} GPUs with their largest window", want=_WANTED)]
