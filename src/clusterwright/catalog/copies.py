"""What copies into and out of a GPU must reach, as others hold them to it; one row of data/gpu_copies.csv each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright.catalog.gpu import Gpu
from clusterwright.catalog.rows import number, rows

# x16, one direction, by generation (PCI-SIG): encoded bits are counted out, headers of packets are not.
PCIE_BYTES_PER_S = {3: 15.75e9, 4: 31.5e9, 5: 63e9, 6: 121e9}


@dataclass(frozen=True, slots=True)
class Copies:
    """Least bytes/s, one direction: with the host's memory, with a peer by NVLink, and of a port into it (GPUDirect).

    `gdr_share` is of the port's line.
    """

    host_bytes_per_s: float
    peer_bytes_per_s: float
    gdr_share: float
    source: str


@cache
def copies() -> Mapping[str, Copies]:
    """By the name of the GPU; a GPU that is not here was not looked up."""
    return {row["gpu"]: _read(row) for row in rows("gpu_copies")}


def pcie_bytes_per_s(gpu: Gpu) -> float:
    """Of its sixteen lanes; 0 where its generation is not known."""
    return PCIE_BYTES_PER_S.get(gpu.pcie_gen, 0.0)


def _read(row: dict[str, str]) -> Copies:
    gdr = number(row, "gdr_gbit_per_s") / number(row, "gdr_port_gbit_per_s")
    host, peer = number(row, "host_gbyte_per_s", 1e9), number(row, "peer_gbyte_per_s", 1e9)
    return Copies(host, peer, gdr, row["source"])
