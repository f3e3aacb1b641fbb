"""What was fitted on published measurements: shares of line rate, latencies; `bench/accuracy/fit_collectives.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterwright.catalog.fitted import coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping

ERAS = ("Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell", "Blackwell Ultra", "Rubin")


@dataclass(frozen=True, slots=True)
class Wire:
    """One kind of network between nodes."""

    efficiency: float  # share of its line rate that a ring of two nodes reaches
    step_s: float  # one step of a ring, beyond the network's own latency
    congestion: float  # bandwidth lost each time the nodes double
    delay_s: float = 0.0  # of a step in every protocol: what its software adds to the network's own latency
    rdma: bool = True  # without: the protocols for small messages wait as long as the large one


@dataclass(frozen=True, slots=True)
class Coefficients:
    """All of them; rates are shares of line rate, times seconds."""

    link: Mapping[str, float]  # of a ring, by the GPU's architecture
    nvls: Mapping[str, float]  # of a reduction in the NVLink switch, likewise
    pcie: float  # of a ring over PCIe in one node
    staged: float  # likewise, of cards that reach one another through the host's memory only
    wire: Mapping[str, Wire]  # by kind of network
    softness: float  # exponent of the sum of two tiers' times; infinite: only the slower one counts
    launch_s: float  # of one operation by the host, while the one before it runs
    latency_scale: float  # of NCCL's own table of step latencies
    ramp: float  # share of sqrt(latency x transfer time): filling the pipeline of chunks
    nvls_ramp: float  # likewise, of a reduction in the switch
    window_bytes: float  # in flight at once: what is beyond it finds the pipeline full
    heads: float  # GPUs of one NVLink domain from which trees through its switches go out
    ll_bandwidth: float  # share of a ring's that NCCL's protocol for small messages reaches
    nvls_s: float  # latency of one reduction in the switch


@cache
def stored() -> Coefficients:
    """What the package was shipped with."""
    return from_table(coefficients("collectives"))


def from_table(table: Mapping[str, Any]) -> Coefficients:
    """From the stored table; keys that start with an underscore are remarks."""
    values = {key: value for key, value in table.items() if not key.startswith("_")}
    values["wire"] = {kind: Wire(**wire) for kind, wire in values["wire"].items()}
    return Coefficients(**values)


def nearest(table: Mapping[str, float], arch: str) -> float:
    """The coefficient of this architecture, else of the nearest in time, else the middle one."""
    if arch in table:
        return table[arch]
    if arch not in ERAS:
        return sorted(table.values())[len(table) // 2]
    eras = [era for era in ERAS if era in table]
    return table[min(eras, key=lambda era: abs(ERAS.index(era) - ERAS.index(arch)))]
