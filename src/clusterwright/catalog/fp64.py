"""Double-precision rates, which science needs and training does not; one row of data/fp64.csv each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright.catalog.rows import number, rows


@dataclass(frozen=True, slots=True)
class Fp64:
    """Peak FLOP/s of one GPU; `matrix` 0 where it has no double-precision matrix units."""

    vector: float
    matrix: float
    source: str


@cache
def fp64() -> Mapping[str, Fp64]:
    """By the name of the GPU; a GPU that is not here was not looked up."""
    return {
        row["gpu"]: Fp64(
            number(row, "fp64_tflops", 1e12), number(row, "fp64_matrix_tflops", 1e12), row["source"]
        )
        for row in rows("fp64")
    }
