"""GPUs have addresses for their memory."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bios import in_lab, of_guest, page
from clusterwright.check.expectation import check, fault, fine, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.board import Bar, Board, Device, board
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Verdict
from clusterwright.units import MiB

_LIMIT = 1 << 32
_WANTED = "the kernel could place every window of every GPU (`resource` of each in /sys/bus/pci/devices)"


@check(
    board,
    when=has_gpus,
    unless=in_lab,
    mend="switch Above 4G Decoding on in the BIOS",
)
def above_4g(_want: Want, have: Board) -> Iterator[Verdict]:
    """Every GPU has addresses for its memory: without Above 4G Decoding there is no room, and the driver leaves it out.

    The kernel's own lines on it are not judged: it says them of windows that it places a moment later.
    """
    if guest := of_guest(have):
        yield guest
        return
    gpus = have.of("gpu")
    if not gpus:
        yield unknown("no GPU on the PCI bus (see gpu_on_bus)", want=_WANTED)
        return
    mend = f"{page(have, 'above_4g')}: Enabled; then power off and on"
    faults = [
        fault(saw=f"the GPU at {gpu.where} {why}", want=_WANTED, part=f"gpu {gpu.address}", mend=mend)
        for gpu in gpus
        if (why := _why(gpu, gpus))
    ]
    yield from faults or [fine(saw=_said(gpus), want=_WANTED)]


def _largest(gpu: Device) -> Bar:
    return max(gpu.bars, key=lambda bar: bar.size * bar.prefetch)


def _why(gpu: Device, gpus: tuple[Device, ...]) -> str:
    """What is wrong, if anything: a window without addresses, or a smaller one than equal GPUs have."""
    if all(bar.first < 0 for bar in gpu.bars if bar.prefetch) or any(
        bar.first < 0 and bar.size for bar in gpu.bars
    ):
        return "has no addresses for its memory"
    most = max(_largest(other).size for other in gpus if other.device == gpu.device)
    size = _largest(gpu).size
    return f"has {size // MiB} MiB of addresses, an equal one {most // MiB} MiB" if size < most else ""


def _said(gpus: tuple[Device, ...]) -> str:
    bars = [_largest(gpu) for gpu in gpus]
    where = "above 4 GiB" if all(bar.first >= _LIMIT for bar in bars) else "below 4 GiB, where they fit"
    return f"{len(gpus)} GPUs with {min(bar.size for bar in bars) // MiB} MiB of addresses, {where}"
