"""GPUs show the CPU all of their memory."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.units import MiB

_EXPECTED = "the largest window that the GPU offers (its Resizable BAR capability)"


@check(board, when=has_gpus, unless=in_lab, fix="switch Re-Size BAR Support on in the BIOS")
def resizable_bar(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """A GPU whose window can be resized has the largest: else transfers between GPUs go through a small one."""
    if guest := of_guest(have):
        yield guest
        return
    gpus = have.devices_by_kind("gpu")
    if gpus and all(gpu.acs is None for gpu in gpus):
        yield unknown("only root may read the capabilities of a GPU", expected=_EXPECTED)
        return
    fix = f"{bios_menu(have, 'resizable_bar')}: Enabled (with {bios_menu(have, 'above_4g')})"
    faults = [
        fault(
            observed=f"the GPU at {gpu.location} shows {bar.now // MiB} of {bar.most // MiB} MiB (BAR {bar.bar})",
            expected=_EXPECTED,
            part=f"gpu {gpu.address}",
            fix=fix,
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
    yield from faults or [fine(observed=f"{able} GPUs with their largest window", expected=_EXPECTED)]
