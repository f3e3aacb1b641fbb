"""GPUs show the CPU all of their memory."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _
from clusterwright.units import MiB

_EXPECTED = N_("the largest window that the GPU offers (its Resizable BAR capability)")


@check(board, when=has_gpus, unless=in_lab, fix="switch Re-Size BAR Support on in the BIOS")
def resizable_bar(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """A GPU whose window can be resized has the largest: else transfers between GPUs go through a small one."""
    if guest := of_guest(have):
        yield guest
        return
    gpus = have.devices_by_kind("gpu")
    if gpus and all(gpu.acs is None for gpu in gpus):
        yield unknown(_("only root may read the capabilities of a GPU"), expected=_EXPECTED)
        return
    fix = _(
        "{bios_menu}: Enabled (with {bios_menu2})",
        bios_menu=bios_menu(have, "resizable_bar"),
        bios_menu2=bios_menu(have, "above_4g"),
    )
    faults = [
        fault(
            observed=_(
                "the GPU at {location} shows {now} of {most} MiB (BAR {bar})",
                location=gpu.location,
                now=bar.now // MiB,
                most=bar.most // MiB,
                bar=bar.bar,
            ),
            expected=_EXPECTED,
            part=_("gpu {address}", address=gpu.address),
            fix=fix,
            otherwise=Status.WARN,
        )
        for gpu in gpus
        for bar in gpu.resizable
        if bar.now < bar.most
    ]
    able = sum(bool(gpu.resizable) for gpu in gpus)
    if not able:
        yield skip(_("no GPU here has a window that can be resized"))
        return
    yield from faults or [
        fine(observed=_("{able} GPUs with their largest window", able=able), expected=_EXPECTED)
    ]
