"""The rates that a GPU model should measure, by the catalog; pure."""

from __future__ import annotations

from collections.abc import Callable

from clusterwright import catalog
from clusterwright.catalog.gpus import CopyRates, copy_rates, pcie_bytes_per_s
from clusterwright.catalog.records import Gpu
from clusterwright.check.bench.judging import Expectation
from clusterwright.check.bench.parsers.gpu import FROM_PEER, TO_PEER
from clusterwright.i18n import _

PRECISIONS = ("bf16", "fp16", "tf32")
# Ours: the bench measures one shape for seconds; the catalog's best rates are those of the best shape of a sweep.
OF_BEST = 0.85
# The planner's prior for what a copy in device memory reaches, and its spread (bench/accuracy/fit_cnn.py, STREAM).
STREAM_SHARE, STREAM_ENOUGH = 0.85, 0.9
TABLE = "catalog/data/gpu_copies.csv"


def expected(quantity: str, gpu: Gpu, *, nvlink: bool) -> Expectation | None:
    """Return the expected value of one quantity of a GPU; None where the catalog gives none.

    None also for copies between GPUs without NVLink.
    """
    if quantity.endswith(" products"):
        return _matrix(gpu, quantity.removesuffix(" products"))
    if quantity.startswith("memory ") and gpu.memory_bytes_per_s:
        line = _("{memory_bytes_per_s:.4g} TB/s", memory_bytes_per_s=gpu.memory_bytes_per_s / 1000000000000.0)
        reason = _(
            "{stream_share:.0%} of the {gpu}'s {line} (wright plan catalog gpus)",
            stream_share=STREAM_SHARE,
            gpu=gpu.name,
            line=line,
        )
        return Expectation(gpu.memory_bytes_per_s * STREAM_SHARE, "bytes/s", reason, STREAM_ENOUGH)
    if quantity in (TO_PEER, FROM_PEER):
        return _peer(gpu) if nvlink else None
    return _host(gpu) if quantity.startswith("copies") else None


def precisions(gpu: Gpu | None) -> tuple[str, ...]:
    """Return the precisions that the GPU has a peak for; all of them for an unknown GPU."""
    return tuple(precision for precision in PRECISIONS if gpu is None or gpu.peak.get(precision))


def _matrix(gpu: Gpu, precision: str) -> Expectation | None:
    peak = gpu.peak.get(precision, 0.0)
    if not peak:
        return None
    best = (gpu.achieved or {}).get("bf16", 0.0)
    share, source = (
        (best / gpu.peak["bf16"], _("its own")) if best else (_least_share(), _("the lowest of the catalog"))
    )
    reason = _(
        "{share:.0%} of the {gpu}'s peak FLOP/s: {source} best measured share in bf16 (wright plan catalog gpus)",
        share=share,
        gpu=gpu.name,
        source=source,
    )
    return Expectation(peak * share, "FLOP/s", reason, OF_BEST)


def _least_share() -> float:
    """Return the lowest measured share of bf16 peak among the catalog's NVIDIA GPUs."""
    gpus = [
        gpu for gpu in catalog.gpus().values() if gpu.vendor == "NVIDIA" and (gpu.achieved or {}).get("bf16")
    ]
    return min((gpu.achieved or {})["bf16"] / gpu.peak["bf16"] for gpu in gpus)


def _host(gpu: Gpu) -> Expectation | None:
    description = _(
        "16 lanes of PCIe {pcie_gen}.0, times the lowest accepted share of the line rate",
        pcie_gen=gpu.pcie_gen,
    )
    return _copy(gpu, description, lambda row: row.host_bytes_per_s, pcie_bytes_per_s)


def _peer(gpu: Gpu) -> Expectation | None:
    description = _(
        "the NVLink rate of the {gpu}, times the lowest accepted share of the line rate", gpu=gpu.name
    )
    return _copy(gpu, description, lambda row: row.peer_bytes_per_s, lambda model: model.link_bytes_per_s)


def _copy(
    gpu: Gpu, description: str, row_rate: Callable[[CopyRates], float], line: Callable[[Gpu], float]
) -> Expectation | None:
    """Return the table's rate for this GPU; for others the link's line rate times the lowest share in the table.

    None if the GPU is not in the table and has no line rate.
    """
    if row := copy_rates().get(gpu.name):
        return Expectation(
            row_rate(row),
            "bytes/s",
            _("the accepted minimum of the {gpu} ({table})", gpu=gpu.name, table=TABLE),
            1.0,
        )
    models = [model for model in catalog.gpus().values() if model.name in copy_rates()]
    share = min(row_rate(copy_rates()[model.name]) / line(model) for model in models)
    return (
        Expectation(
            line(gpu), "bytes/s", _("{description} in {table}", description=description, table=TABLE), share
        )
        if line(gpu)
        else None
    )
