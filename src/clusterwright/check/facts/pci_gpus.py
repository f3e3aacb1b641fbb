"""GPUs on the PCI bus."""

from __future__ import annotations

from clusterwright.check.fact import fact
from clusterwright.check.kernel.lines import pci

_CLASSES = ("0x0300", "0x0302")  # PCI classes: VGA controller, 3D controller
_VENDOR = "0x10de"  # NVIDIA

_COMMAND = (
    "for dev in /sys/bus/pci/devices/*; do [ -e $dev/vendor ] &&"
    " echo ${dev##*/} $(cat $dev/vendor $dev/class); done; echo END"
)


@fact("sh", "-c", _COMMAND)
def pci_gpus(out: str) -> tuple[str, ...]:
    """PCI addresses of NVIDIA GPUs on the bus, with or without a working driver."""
    *lines, last = out.splitlines()
    rows = [line.split() for line in lines]
    if last != "END" or any(len(row) != 3 for row in rows):
        raise ValueError(out)
    return tuple(
        pci(address) for address, vendor, kind in rows if vendor == _VENDOR and kind.startswith(_CLASSES)
    )
