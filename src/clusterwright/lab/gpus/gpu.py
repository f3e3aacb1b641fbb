"""One simulated GPU of a lab's host, as faults use it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.errors import WrightError
from clusterwright.lab import host
from clusterwright.lab.gpus import state
from clusterwright.lab.gpus.simulated import Simulated
from clusterwright.lab.kernel_messages import write_kernel_message
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import parse_number
from clusterwright.lab.state import LabState


@dataclass(frozen=True, slots=True)
class SimulatedGpu:
    """GPU `index` of a host; GPU 0 also stands for the driver as a whole."""

    lab: LabState
    host: LabHost
    gpus: Simulated
    index: int

    @property
    def folder(self) -> Path:
        """Return the folder with the state of the host's simulated GPUs."""
        return host.gpu_folder(self.lab, self.host)

    def set_values(
        self, fault: str, *, lasting: Mapping[str, object] | None = None, **until_boot: object
    ) -> None:
        """Set values of the simulated GPU for a fault: `lasting` ones until cleared.

        The others until cleared or the next boot. In keyword names _ stands for a dot.
        """
        rows = {key.replace("_", "."): value for key, value in until_boot.items()}
        if rows:
            state.set_values(self.folder, f"{fault}-{self.index}", rows, self.index, lasting=False)
        if lasting:
            state.set_values(self.folder, f"{fault}-{self.index}", dict(lasting), self.index, lasting=True)

    def clear_values(self, fault: str) -> None:
        """Clear the fault's values of the GPU, and log that the GPU needs no recovery action."""
        state.clear_values(self.folder, f"{fault}-{self.index}")
        self._recovered()

    def set_driver_values(self, fault: str, **until_boot: object) -> None:
        """Set values of the host's simulated driver for a fault, until cleared or the next boot."""
        state.set_values(
            self.folder, fault, {f"driver.{key}": value for key, value in until_boot.items()}, lasting=False
        )

    def clear_driver_values(self, fault: str) -> None:
        """Clear the fault's driver values, and log that no recovery action is needed."""
        state.clear_values(self.folder, fault)
        self._recovered()

    def _recovered(self) -> None:
        """Write the kernel message of a real driver after a reset: earlier ones of the GPU are void."""
        address = self.gpus.kernel_address(self.index)[:-2]
        message = "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
        self.write_kernel_message(
            f"NVRM: Xid (PCI:{address}): 154, pid='<unknown>', name=<unknown>, {message}"
        )

    def xid(self, number: int, message: str) -> None:
        """Report an XID of the GPU in the host's kernel log, and to programs that wait for NVML's events."""
        self.set_values("xid", xid=number, xid_at=time.time_ns())
        address = self.gpus.kernel_address(self.index)[:-2]
        self.write_kernel_message(f"NVRM: GPU at PCI:{address}: {self.gpus.uuid(self.index)}")
        self.write_kernel_message(
            f"NVRM: Xid (PCI:{address}): {number}, pid='<unknown>', name=<unknown>, {message}"
        )

    def write_kernel_message(self, line: str) -> None:
        """Write a line of the GPU driver to the host's kernel log."""
        write_kernel_message(self.lab, self.host, line)


def chosen(lab: LabState, lab_host: LabHost, options: Mapping[str, str]) -> SimulatedGpu:
    """Return the simulated GPU that the option `gpu` numbers; the first without it.

    Raises:
        WrightError: The host has no simulated GPUs, or none of that number.
    """
    if lab_host.gpus is None or not host.gpu_folder(lab, lab_host).exists():
        reason = "has no NVIDIA GPUs" if lab_host.gpus is None else "has GPUs that are device files only"
        fix = "name a compute host; GPUs answer where this machine has a C compiler when the lab is made"
        raise WrightError.from_code("lab-no-gpus", f"{lab_host.name} {reason}", fix)
    return SimulatedGpu(lab, lab_host, lab_host.gpus, parse_number(options, "gpu", 0, lab_host.gpus.count))
