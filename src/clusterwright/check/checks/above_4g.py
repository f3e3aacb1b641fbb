"""Above 4G Decoding: the kernel can map the memory of every GPU."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Bar, Board, Device, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import N_, _
from clusterwright.units import human_size

_LIMIT = 1 << 32
_EXPECTED = N_("every BAR of every GPU has an address (/sys/bus/pci/devices/*/resource)")


@check(board, when=has_gpus, unless=in_lab, fix="enable Above 4G Decoding in the BIOS", in_jobs=True)
def above_4g(_spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """The kernel has assigned an address to every memory BAR of every GPU; that needs Above 4G Decoding.

    The kernel's log lines on this are ignored: it also prints them for BARs that it places a moment later.
    """
    if guest := of_guest(have):
        yield guest
        return
    gpus = have.devices_by_kind("gpu")
    if not gpus:
        yield unknown(
            _("the host has no GPU on the PCI bus; see the check gpu_on_bus"), expected=_(_EXPECTED)
        )
        return
    fix = _("set {menu}: Enabled; then power-cycle the host", menu=bios_menu(have, "above_4g"))
    faults = [
        fault(observed=reason, expected=_(_EXPECTED), part=f"gpu {gpu.address}", fix=fix)
        for gpu in gpus
        if (reason := _why(gpu, gpus))
    ]
    yield from faults or [fine(observed=_summary(gpus), expected=_(_EXPECTED))]


def _largest(gpu: Device) -> Bar:
    return max(gpu.bars, key=lambda bar: bar.size * bar.prefetch)


def _why(gpu: Device, gpus: tuple[Device, ...]) -> str:
    """Return the problem of a GPU (a BAR without an address, or smaller than that of equal GPUs), or an empty text."""
    if all(bar.start < 0 for bar in gpu.bars if bar.prefetch) or any(
        bar.start < 0 and bar.size for bar in gpu.bars
    ):
        return _("the GPU at {location} has a BAR without an address", location=gpu.location)
    most = max(_largest(peer).size for peer in gpus if peer.device == gpu.device)
    if (size := _largest(gpu).size) >= most:
        return ""
    return _(
        "the GPU at {location} has a BAR of {size}, an equal GPU one of {most}",
        location=gpu.location,
        size=human_size(size),
        most=human_size(most),
    )


def _summary(gpus: tuple[Device, ...]) -> str:
    bars = [_largest(gpu) for gpu in gpus]
    text = (
        _("all BARs have addresses above 4 GiB; GPUs: {count}, smallest BAR: {size}")
        if all(bar.start >= _LIMIT for bar in bars)
        else _("all BARs have addresses, some below 4 GiB; GPUs: {count}, smallest BAR: {size}")
    )
    return text.format(count=len(gpus), size=human_size(min(bar.size for bar in bars)))
