"""Coefficients of the collectives model, fitted by `bench/accuracy/fit_collectives.py` on published measurements."""

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
    """Coefficients of one kind of network between nodes."""

    efficiency: float  # share of its line rate that a ring of two nodes reaches
    step_s: float  # one step of a ring, beyond the network's own latency
    congestion: float  # bandwidth lost each time the nodes double
    delay_s: float = 0.0  # per step, every protocol: what its software adds to the network's latency
    rdma: bool = True  # without RDMA the small-message protocols have the latency of the large one


@dataclass(frozen=True, slots=True)
class Coefficients:
    """All fitted coefficients of the collectives model; rates are shares of line rate, times are seconds."""

    link: Mapping[str, float]  # of a ring, by the GPU's architecture
    nvls: Mapping[str, float]  # of a reduction in the NVLink switch, by the GPU's architecture
    pcie: float  # of a ring over PCIe within a node
    staged: float  # the same for cards without peer-to-peer access, through host memory
    wire: Mapping[str, Wire]  # by kind of network
    softness: float  # exponent of the sum of two tiers' times; infinite: only the slower one counts
    launch_s: float  # launch of one operation by the host, which overlaps the previous one
    latency_scale: float  # factor on NCCL's table of step latencies
    ramp: float  # share of sqrt(latency x transfer time): filling the pipeline of chunks
    nvls_ramp: float  # the same for a reduction in the switch
    window_bytes: float  # bytes in flight at once: beyond it the pipeline is full
    heads: float  # GPUs of one NVLink domain through which in-switch trees leave it
    ll_bandwidth: float  # bandwidth of NCCL's LL protocol over a ring's
    nvls_s: float  # latency of one reduction in the switch


@cache
def stored() -> Coefficients:
    """Return the collectives model's coefficients that are shipped with the package."""
    return from_table(coefficients("collectives"))


def from_table(table: Mapping[str, Any]) -> Coefficients:
    """Build `Coefficients` from a table; keys that start with an underscore are remarks and are ignored."""
    values = {key: value for key, value in table.items() if not key.startswith("_")}
    values["wire"] = {kind: Wire(**wire) for kind, wire in values["wire"].items()}
    return Coefficients(**values)


def nearest(table: Mapping[str, float], arch: str) -> float:
    """Return the coefficient of a GPU architecture; else that of the architecture nearest in time, the older of two.

    For an architecture that is not in `ERAS`: the median of the table.
    """
    if arch in table:
        return table[arch]
    if arch not in ERAS:
        return sorted(table.values())[len(table) // 2]
    eras = [era for era in ERAS if era in table]
    return table[min(eras, key=lambda era: abs(ERAS.index(era) - ERAS.index(arch)))]
