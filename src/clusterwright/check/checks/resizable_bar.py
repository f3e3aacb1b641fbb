"""GPUs use their largest Resizable BAR."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _, _n
from clusterwright.units import human_size

_EXPECTED = N_("the largest BAR that the GPU supports (Resizable BAR capability)")


@check(board, when=has_gpus, unless=in_lab, fix="enable Re-Size BAR Support in the BIOS", in_jobs=True)
def resizable_bar(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Every GPU with Resizable BAR uses the largest size; with a smaller one peer-to-peer transfers are slower.

    Otherwise a warning; skipped if no GPU supports it, and in a virtual machine.
    """
    if guest := of_guest(have):
        yield guest
        return
    gpus = have.devices_by_kind("gpu")
    if gpus and all(gpu.acs is None for gpu in gpus):
        yield unknown(
            _("the PCI capabilities of the GPUs are not readable; run the check as root"),
            expected=_(_EXPECTED),
        )
        return
    fix = _(
        "set {menu}: Enabled (needs {other_menu})",
        menu=bios_menu(have, "resizable_bar"),
        other_menu=bios_menu(have, "above_4g"),
    )
    faults = [
        fault(
            observed=_(
                "BAR {bar} of the GPU at {location} has {size} of {most}",
                bar=bar.bar,
                location=gpu.location,
                size=human_size(bar.now),
                most=human_size(bar.most),
            ),
            expected=_(_EXPECTED),
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
        yield skip(_("no GPU of this host supports Resizable BAR"))
        return
    yield from faults or [
        fine(
            observed=_n("{count} GPU with its largest BAR", "{count} GPUs with their largest BAR", able),
            expected=_(_EXPECTED),
        )
    ]
