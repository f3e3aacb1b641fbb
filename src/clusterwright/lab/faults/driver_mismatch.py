"""Driver mismatch: library and kernel module have different versions, as after an upgrade; a reboot fixes it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.gpus.gpu import chosen
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ()
LASTS = True
refuse = chosen  # raises if there is no such GPU
_LINES = (
    "NVRM: API mismatch: the client has the version {library}, but",
    "NVRM: this kernel module has the version {module}.  Please",
    "NVRM: make sure that this kernel module and all NVIDIA driver",
    "NVRM: components have the same version.",
)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Make NVML fail in programs that start from now on, as library and kernel module have different versions.

    nvidia-smi reports the reason.
    """
    gpu = chosen(lab, host, options)
    gpu.set_driver_values("driver-mismatch", mismatch=1)
    for line in _LINES:
        gpu.write_kernel_message(line.format(library=gpu.gpus.driver, module=f"{gpu.gpus.driver}-before"))
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Give the simulated GPU driver's library and kernel module the same version again; return the lab's state."""
    chosen(lab, host, options).clear_driver_values("driver-mismatch")
    return lab
