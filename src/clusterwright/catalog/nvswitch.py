"""Which hosts have NVSwitches, and which kernel modules of the driver their GPUs take."""

from __future__ import annotations

from clusterwright.catalog.gpus import gpu
from clusterwright.errors import WrightError

# NVIDIA: "Transitions fully towards open-source GPU kernel modules" (2024-07): not before Turing.
CLOSED_ONLY = frozenset({"Pascal", "Volta"})
# Same: Grace Hopper and Blackwell run the open ones alone.
OPEN_ONLY = frozenset({"Blackwell", "Blackwell Ultra"})
_BOARD = 8  # HGX A100, H100, B200: 8 GPUs behind switches; boards of 4 join them directly (fabric manager user guide)
_DGX_2 = 16  # V100: 8 are joined directly (DGX-1), 16 by switches


def architecture(model: str) -> str:
    """The generation of an NVIDIA GPU; empty for another vendor's, or one that the catalog does not have."""
    try:
        found = gpu(model)
    except WrightError:
        return ""
    return found.arch if found.vendor == "NVIDIA" else ""


def vendor(model: str) -> str:
    """Who makes it; NVIDIA where the catalog does not have it, as most do."""
    try:
        return gpu(model).vendor
    except WrightError:
        return "NVIDIA"


def has_nvswitch(model: str, count: int, *, nvlink: bool) -> bool:
    """True where so many, all joined by NVLink, can only be joined by switches that the host itself sets up."""
    arch = architecture(model)
    return bool(arch) and nvlink and count >= (_DGX_2 if arch in CLOSED_ONLY else _BOARD)


def takes_open_modules(model: str) -> bool:
    """True from Turing on; a GPU that the catalog does not have is newer than those that do not."""
    return architecture(model) not in CLOSED_ONLY
