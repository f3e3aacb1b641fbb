"""One simulated GPU of a lab's host, as the faults see it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.errors import WrightError
from clusterwright.lab import host
from clusterwright.lab.gpus import state
from clusterwright.lab.gpus.simulated import Simulated
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import whole
from clusterwright.lab.said import say
from clusterwright.lab.state import LabState


@dataclass(frozen=True, slots=True)
class OneGpu:
    """GPU `index` of a host; with 0 also what speaks for the driver as a whole."""

    lab: LabState
    host: LabHost
    gpus: Simulated
    index: int

    @property
    def folder(self) -> Path:
        """Where the state of the host's GPUs lies."""
        return host.gpu_folder(self.lab, self.host)

    def put(self, fault: str, *, lasting: Mapping[str, object] | None = None, **until_boot: object) -> None:
        """Its keys have these values: the lasting ones until they are taken back, the others at most until a boot.

        Keywords are keys with _ for a dot.
        """
        rows = {key.replace("_", "."): value for key, value in until_boot.items()}
        if rows:
            state.put(self.folder, f"{fault}-{self.index}", rows, self.index, lasting=False)
        if lasting:
            state.put(self.folder, f"{fault}-{self.index}", dict(lasting), self.index, lasting=True)

    def take(self, fault: str) -> None:
        """What the fault put is gone, and the driver says that the GPU needs nothing any more."""
        state.take(self.folder, f"{fault}-{self.index}")
        self._recovered()

    def put_driver(self, fault: str, **until_boot: object) -> None:
        """The same for the host's driver."""
        state.put(
            self.folder, fault, {f"driver.{key}": each for key, each in until_boot.items()}, lasting=False
        )

    def take_driver(self, fault: str) -> None:
        """What the fault put for the driver is gone, and the driver says so."""
        state.take(self.folder, fault)
        self._recovered()

    def _recovered(self) -> None:
        """The line that a real driver logs after a reset: what was logged of the GPU before is over."""
        place = self.gpus.kernel_address(self.index)[:-2]
        words = "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
        self.say(f"NVRM: Xid (PCI:{place}): 154, pid='<unknown>', name=<unknown>, {words}")

    def xid(self, number: int, words: str) -> None:
        """The driver reports an XID: in the host's kernel log, and to whoever waits for NVML's events."""
        self.put("xid", xid=number, xid_at=time.time_ns())
        place = self.gpus.kernel_address(self.index)[:-2]
        self.say(f"NVRM: GPU at PCI:{place}: {self.gpus.uuid(self.index)}")
        self.say(f"NVRM: Xid (PCI:{place}): {number}, pid='<unknown>', name=<unknown>, {words}")

    def say(self, line: str) -> None:
        """The driver says so in the host's kernel log."""
        say(self.lab, self.host, line)


def chosen(lab: LabState, one: LabHost, options: Mapping[str, str]) -> OneGpu:
    """The GPU that the option `gpu` means; the first without it.

    Raises:
        WrightError: the host has no GPUs that answer, or none of that number.
    """
    if one.gpus is None or not host.gpu_folder(lab, one).exists():
        why = "has no NVIDIA GPUs" if one.gpus is None else "has GPUs that are device files only"
        mend = "name a compute host; GPUs answer where this machine has a C compiler when the lab is made"
        raise WrightError.of("lab-no-gpus", f"{one.name} {why}", mend)
    return OneGpu(lab, one, one.gpus, whole(options, "gpu", 0, one.gpus.count))
