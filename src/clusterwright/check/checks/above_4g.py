"""GPUs have addresses for their memory."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Bar, Board, Device, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import N_, _
from clusterwright.units import MiB

_LIMIT = 1 << 32
_EXPECTED = N_(
    "the kernel could place every window of every GPU (`resource` of each in /sys/bus/pci/devices)"
)


@check(
    board,
    when=has_gpus,
    unless=in_lab,
    fix="switch Above 4G Decoding on in the BIOS",
)
def above_4g(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Every GPU has addresses for its memory: without Above 4G Decoding there is no room, and the driver leaves it out.

    The kernel's own lines on it are not judged: it says them of windows that it places a moment later.
    """
    if guest := of_guest(have):
        yield guest
        return
    gpus = have.devices_by_kind("gpu")
    if not gpus:
        yield unknown(_("no GPU on the PCI bus (see gpu_on_bus)"), expected=_EXPECTED)
        return
    fix = _("{bios_menu}: Enabled; then power off and on", bios_menu=bios_menu(have, "above_4g"))
    faults = [
        fault(
            observed=_("the GPU at {location} {reason}", location=gpu.location, reason=reason),
            expected=_EXPECTED,
            part=_("gpu {address}", address=gpu.address),
            fix=fix,
        )
        for gpu in gpus
        if (reason := _why(gpu, gpus))
    ]
    yield from faults or [fine(observed=_summary(gpus), expected=_EXPECTED)]


def _largest(gpu: Device) -> Bar:
    return max(gpu.bars, key=lambda bar: bar.size * bar.prefetch)


def _why(gpu: Device, gpus: tuple[Device, ...]) -> str:
    """What is wrong, if anything: a window without addresses, or a smaller one than equal GPUs have."""
    if all(bar.start < 0 for bar in gpu.bars if bar.prefetch) or any(
        bar.start < 0 and bar.size for bar in gpu.bars
    ):
        return _("has no addresses for its memory")
    most = max(_largest(peer).size for peer in gpus if peer.device == gpu.device)
    size = _largest(gpu).size
    return (
        _("has {size} MiB of addresses, an equal one {most} MiB", size=size // MiB, most=most // MiB)
        if size < most
        else ""
    )


def _summary(gpus: tuple[Device, ...]) -> str:
    bars = [_largest(gpu) for gpu in gpus]
    location = (
        _("above 4 GiB") if all(bar.start >= _LIMIT for bar in bars) else _("below 4 GiB, where they fit")
    )
    return _(
        "{count} GPUs with {min} MiB of addresses, {location}",
        count=len(gpus),
        min=min(bar.size for bar in bars) // MiB,
        location=location,
    )
