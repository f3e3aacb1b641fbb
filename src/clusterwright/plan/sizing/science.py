"""Science: solvers in double precision, most of them limited by memory bandwidth.

What a code reaches lies between its share of the double-precision peak and of the bandwidth (Williams et al.,
roofline, doi 10.1145/1498765.1498785); without its FLOPs a byte both ends are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.catalog.fp64 import Fp64
    from clusterwright.catalog.gpu import Gpu


@dataclass(frozen=True, slots=True)
class Roof:
    """What one GPU allows a code in double precision, in FLOP/s and bytes/s."""

    vector: float
    matrix: float
    bytes_per_s: float

    @property
    def ridge(self) -> float:
        """FLOPs a byte above which the arithmetic is the limit, and below which memory is."""
        return self.vector / self.bytes_per_s

    def attainable(self, flops_a_byte: float) -> float:
        """FLOP/s of a code that does so many FLOPs for each byte it moves, at most."""
        return min(self.vector, flops_a_byte * self.bytes_per_s)


def roof(gpu: Gpu, rate: Fp64) -> Roof:
    """The roofline of one GPU."""
    return Roof(rate.vector, rate.matrix, gpu.memory_bytes_per_s)
