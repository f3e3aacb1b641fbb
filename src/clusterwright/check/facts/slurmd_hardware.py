"""The hardware that slurmd finds."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.units import MiB


@dataclass(frozen=True, slots=True)
class Hardware:
    """Processors and memory as slurmd detects them."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_bytes: int

    @property
    def cpus(self) -> int:
        """Number of hardware threads of the host that slurmd detects: sockets times cores times threads."""
        return self.sockets * self.cores_per_socket * self.threads_per_core


@fact("slurmd", "-C")
def slurmd_hardware(out: str) -> Hardware:
    """Output of `slurmd -C`; in a container that is the hardware of the machine that runs it."""
    values = dict(token.split("=", 1) for token in out.splitlines()[0].split())
    return Hardware(
        sockets=int(values["Boards"]) * int(values["SocketsPerBoard"]),
        cores_per_socket=int(values["CoresPerSocket"]),
        threads_per_core=int(values["ThreadsPerCore"]),
        memory_bytes=int(values["RealMemory"]) * MiB,
    )
