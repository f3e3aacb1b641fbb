"""One simulated RDMA port of a lab's host, as faults use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.errors import WrightError
from clusterwright.lab import host
from clusterwright.lab.kernel_messages import write_kernel_message
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import parse_number
from clusterwright.lab.rdma import state
from clusterwright.lab.rdma.ports import SimulatedRdma
from clusterwright.lab.state import LabState


@dataclass(frozen=True, slots=True)
class SimulatedPort:
    """Port `index` of a host: the only one of its device."""

    lab: LabState
    host: LabHost
    ports: SimulatedRdma
    index: int

    @property
    def folder(self) -> Path:
        """Return the folder with the files of the host's RDMA ports."""
        return host.rdma_folder(self.lab, self.host)

    def set_values(self, **values: str) -> None:
        """Write values to files of the simulated RDMA port, such as `state`."""
        state.set_values(self.folder, self.ports, self.index, values)

    def grow(self, growth: Mapping[str, int]) -> None:
        """Raise counters of the RDMA port by the given amounts, by their paths."""
        state.add(self.folder, self.ports, self.index, growth)

    def reset(self) -> None:
        """Restore the RDMA port's initial state: up, with counters at zero."""
        state.reset(self.folder, self.ports, self.index)

    def write_kernel_message(self, message: str) -> None:
        """Write a line of the RDMA adapter's driver to the host's kernel log."""
        address = f"0000:{0x18 + 0x10 * self.index:02x}:00.0"
        write_kernel_message(self.lab, self.host, f"mlx5_core {address}: {message}")


def chosen(lab: LabState, lab_host: LabHost, options: Mapping[str, str]) -> SimulatedPort:
    """Return the simulated RDMA port that the option `port` numbers; the first without it.

    Raises:
        WrightError: The host has no RDMA ports, or none of that number.
    """
    if lab_host.rdma is None or not host.rdma_folder(lab, lab_host).exists():
        fix = "name a host on a compute network of kind infiniband or roce"
        raise WrightError.from_code("lab-no-rdma", f"{lab_host.name} has no RDMA ports", fix)
    return SimulatedPort(lab, lab_host, lab_host.rdma, parse_number(options, "port", 0, lab_host.rdma.count))
