"""One simulated RDMA port of a lab's host, as the faults see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterwright.errors import WrightError
from clusterwright.lab import host
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import whole
from clusterwright.lab.rdma import state
from clusterwright.lab.rdma.ports import Rdma
from clusterwright.lab.said import say
from clusterwright.lab.state import LabState


@dataclass(frozen=True, slots=True)
class OnePort:
    """Port `index` of a host: the only one of its device."""

    lab: LabState
    host: LabHost
    ports: Rdma
    index: int

    @property
    def folder(self) -> Path:
        """Where the files of the host's ports lie."""
        return host.rdma_folder(self.lab, self.host)

    def put(self, **values: str) -> None:
        """Its files say something else."""
        state.put(self.folder, self.ports, self.index, values)

    def grow(self, growth: Mapping[str, int]) -> None:
        """Its counters have grown."""
        state.add(self.folder, self.ports, self.index, growth)

    def mend(self) -> None:
        """It is as it was made."""
        state.mend(self.folder, self.ports, self.index)

    def say(self, words: str) -> None:
        """The adapter's driver says so in the host's kernel log."""
        place = f"0000:{0x18 + 0x10 * self.index:02x}:00.0"
        say(self.lab, self.host, f"mlx5_core {place}: {words}")


def chosen(lab: LabState, one: LabHost, options: Mapping[str, str]) -> OnePort:
    """The port that the option `port` means; the first without it.

    Raises:
        WrightError: the host has no RDMA ports, or none of that number.
    """
    if one.rdma is None or not host.rdma_folder(lab, one).exists():
        mend = "name a host on a compute network of kind infiniband or roce"
        raise WrightError.of("lab-no-rdma", f"{one.name} has no RDMA ports", mend)
    return OnePort(lab, one, one.rdma, whole(options, "port", 0, one.rdma.count))
