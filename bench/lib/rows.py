"""Convert rows of published tables to the planner's inputs."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.plan.collectives.coefficients import Coefficients, stored
from clusterwright.plan.collectives.rows import bus_bw, read

_COMPLETE = ("layers", "hidden", "heads", "seq_len", "num_gpus", "global_batch", "micro_batch", "tp", "pp")


def complete(row: Mapping[str, str]) -> bool:
    """Return True if the row states shape, sequence, GPUs, batch and layout, so that little is inferred."""
    return all((row.get(column) or "").strip() for column in _COMPLETE)


def bus_bw_of_row(row: Mapping[str, str], c: Coefficients | None = None) -> tuple[float, str]:
    """Return the predicted bus bandwidth in GB/s (10^9 bytes), and what was inferred; reads no measured column."""
    spec = read(row)
    return bus_bw(spec, c or stored()) / 1e9, "; ".join(spec.notes)
