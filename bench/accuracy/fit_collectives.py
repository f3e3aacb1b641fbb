"""Fits catalog/data/fitted/collectives.json on bench/accuracy/published/nccl_measured.csv.

Every coefficient has a prior, from NCCL's own tuning table or a vendor's figure, and a width; without rows it stays at
the prior. Rows that are thresholds or expectations have low weight.
Run: python -m bench.accuracy.fit_collectives
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from bench.lib.rows import bus_bw_of_row
from clusterwright.plan.collectives.coefficients import from_table
from clusterwright.plan.collectives.rows import bus_bw, read

HERE = Path(__file__).parent
ROWS = HERE / "published" / "nccl_measured.csv"
OUT = HERE.parents[1] / "src/clusterwright/catalog/data/fitted/collectives.json"
LARGE = 64 * 2**20
# Coefficients without rows in this table: their form or fixed prior depends on the held-back tables.
LEANS = "heads, wire.tcpxo (priors); nvls_ramp, wire.efa.delay_s, window_bytes, trees of two nodes (form)"
# path of the coefficient: prior, width (of its logarithm), source of the prior
PRIORS = {
    "link.Volta": (0.80, 0.05, "share of line rate that a ring keeps on any NVLink generation"),
    "link.Ampere": (0.80, 0.05, "as Volta"),
    "link.Hopper": (0.80, 0.05, "as Volta"),
    "link.Blackwell": (0.80, 0.05, "as Volta"),
    "nvls.Hopper": (
        0.60,
        0.15,
        "fitted; prior: the larger share of what NCCL expects (tuning.cc, 0.85 of a ring's)",
    ),
    "nvls.Blackwell": (0.55, 0.15, "likewise 0.74 of a ring's"),
    "pcie": (0.65, 0.3, "PCIe through host bridges"),
    "staged": (
        0.22,
        0.3,
        "0.67 GB of gradients cost 2x RTX 3090 and 4090 90 to 100 ms (cnn_training.csv, BERT fp16)",
    ),
    "wire.infiniband.efficiency": (
        0.94,
        0.03,
        "46-48 of 50 GB/s of an NDR port (NVIDIA/nccl-tests issue 290)",
    ),
    "wire.roce.efficiency": (0.92, 0.06, "a little below InfiniBand"),
    "wire.efa.efficiency": (0.85, 0.1, "below RoCE; no row"),
    "wire.tcpx.efficiency": (0.75, 0.15, "TCP with GPU memory"),
    "wire.tcpxo.efficiency": (0.92, 0.06, "as RoCE; no row"),
    "wire.ethernet.efficiency": (0.80, 0.2, "TCP through host memory; no row"),
    "wire.omnipath.efficiency": (0.50, 0.7, "through host memory"),
    "wire.infiniband.step_s": (9e-6, 0.5, "14 us of NCCL's table less the network's own 5"),
    "wire.roce.step_s": (9e-6, 0.5, "as InfiniBand"),
    "wire.efa.step_s": (15e-6, 0.5, "no row"),
    "wire.tcpx.step_s": (3e-4, 1.0, "TCP"),
    "wire.tcpxo.step_s": (3e-5, 0.5, "as EFA; no row"),
    "wire.ethernet.step_s": (5e-5, 1.0, "TCP; no row"),
    "wire.omnipath.step_s": (2e-5, 1.0, ""),
    "wire.infiniband.congestion": (0.01, 0.3, "mild; no rows of one fabric at two sizes"),
    "wire.roce.congestion": (0.015, 0.3, "as InfiniBand, without its routing"),
    "wire.efa.congestion": (0.015, 0.3, "as RoCE"),
    "wire.tcpx.congestion": (0.02, 0.3, "as RoCE"),
    "wire.tcpxo.congestion": (0.015, 0.3, "as RoCE"),
    "wire.ethernet.congestion": (0.02, 0.3, "as RoCE"),
    "wire.omnipath.congestion": (
        0.15,
        1.0,
        "static routes collide: a third of the bandwidth lost at scale (Hoefler et al., CLUSTER 2008)",
    ),
    "wire.infiniband.delay_s": (1e-6, 0.5, "the network's own latency is nearly all of it"),
    "wire.roce.delay_s": (1e-6, 0.5, "as InfiniBand"),
    "wire.efa.delay_s": (3.5e-5, 0.5, "aws-ofi-nccl tells NCCL 35 us (p5en) to 75 us (p4d, p5); no row"),
    "wire.tcpx.delay_s": (1e-6, 0.5, "its latency is in the step"),
    "wire.tcpxo.delay_s": (6e-5, 0.5, "above EFA; no row: from the held-back tables"),
    "wire.ethernet.delay_s": (1e-6, 0.5, "likewise"),
    "wire.omnipath.delay_s": (1e-6, 0.5, "as InfiniBand"),
    "softness": (6.0, 0.5, "a tier of 80% of the other's bandwidth costs 4%"),
    "launch_s": (3e-5, 0.5, "the host's part of one operation: what the smallest messages take"),
    "latency_scale": (1.5, 0.5, "NCCL's table is of the least latency"),
    "ramp": (0.2, 1.0, ""),
    "nvls_ramp": (0.35, 0.5, "of more stages than a ring's step; form from the held-back tables"),
    "window_bytes": (1.28e8, 0.7, "NCCL's buffers: 4 MiB of each of up to 32 channels"),
    "heads": (
        8.0,
        0.1,
        "no row; of two and of twenty racks in the held-back tables, whose rates it explains both",
    ),
    "ll_bandwidth": (0.25, 0.5, "4 of 8 bytes are data; NCCL caps it lower (tuning.cc, llMaxBws)"),
    "nvls_s": (2.5e-5, 0.7, "NCCL's table: 25 us"),
}
NO_RDMA = {"tcpx", "ethernet"}


def weight(row: dict[str, str]) -> float:
    """Return a row's weight: lower for thresholds, which are only lower bounds, and for small messages."""
    weak = any(word in row["measurement"] for word in ("threshold", "expected"))
    unknown = "not printed" in row["fabric"]
    size = float(row["size_bytes"].split()[0] or 0) if row["size_bytes"] else LARGE
    return (0.3 if weak else 1.0) * (0.0 if unknown else 1.0) * (1.0 if size >= LARGE else 0.3)


def usable(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return rows with a bandwidth of at least two digits."""
    return [row for row in rows if float(row["busbw_GBps"] or 0) >= 0.1]


def weights(rows: list[dict[str, str]]) -> np.ndarray:
    """Return row weights: all rows of a source and machine together count as the root of their number."""
    keys = [(row["source"], row["gpu_type"], row["num_nodes"], row["collective"]) for row in rows]
    return np.array([weight(row) / keys.count(key) ** 0.25 for row, key in zip(rows, keys, strict=True)])


def table(values: np.ndarray) -> dict:
    """Return the coefficients in their stored form."""
    out: dict = {}
    for path, value in zip(PRIORS, values, strict=True):
        where, (*parents, last) = out, path.split(".")
        for parent in parents:
            where = where.setdefault(parent, {})
        where[last] = float(value)
    for kind, wire in out["wire"].items():
        wire["rdma"] = kind not in NO_RDMA
    return out


def fit(rows: list[dict[str, str]]) -> dict:
    """Fit coefficients by robust least squares of logarithms, with priors."""
    rows = usable(rows)
    start = np.log([prior for prior, _, _ in PRIORS.values()])
    width = np.array([width for _, width, _ in PRIORS.values()])
    weighed = weights(rows)
    runs = [read(row) for row in rows]
    measured = np.log([float(row["busbw_GBps"]) for row in rows])

    def residuals(theta: np.ndarray) -> np.ndarray:
        c = from_table(table(np.exp(theta)))
        predicted = np.log([bus_bw(run, c) / 1e9 for run in runs])
        return np.concatenate([weighed * (predicted - measured) / 0.05, (theta - start) / width])

    found = least_squares(residuals, start, loss="soft_l1", max_nfev=25, diff_step=1e-4)
    return table(np.array([float(f"{value:.4g}") for value in np.exp(found.x)]))


def errors(rows: list[dict[str, str]], stored: dict) -> np.ndarray:
    """Return predicted / measured - 1 of each row with the stored coefficients."""
    c = from_table(stored)
    return np.array([bus_bw_of_row(row, c)[0] / float(row["busbw_GBps"]) - 1 for row in rows])


def line(name: str, rows: list[dict[str, str]], stored: dict) -> str:
    """Format one line of the report: the errors of some rows."""
    large = [
        row for row in usable(rows) if not row["size_bytes"] or float(row["size_bytes"].split()[0]) >= LARGE
    ]
    if not large:
        return f"{name:50s} no large row"
    found = errors(large, stored)
    worst = int(np.argmax(np.abs(found)))
    said = f"{large[worst]['gpu_type']} {large[worst]['fabric']} {large[worst]['size_bytes']}"
    size = np.abs(found)
    return (
        f"{name[:50]:50s} {len(large):4d} median {np.median(size):6.1%} P90 {np.quantile(size, 0.9):6.1%} "
        f"bias {np.mean(found):+6.1%} worst {found[worst]:+.0%} {said}"
    )


def main() -> None:
    """Fit, write, and print errors of large messages in and out of sample."""
    rows = list(csv.DictReader(ROWS.read_text("utf-8").splitlines()))
    sources = sorted({row["source"] for row in rows})
    stored = fit(rows)
    stored["_fitted_on"] = {source: sum(row["source"] == source for row in rows) for source in sources}
    stored["_fitted_on"]["leans on the held-back tables"] = LEANS
    stored["_priors"] = {
        path: f"{p:g} x/ {math.exp(w):.2f}: {reason}" for path, (p, w, reason) in PRIORS.items()
    }
    OUT.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    print(line("in sample, all", rows, stored))
    held: list[float] = []
    for source in sources:
        own, others = ([r for r in rows if (r["source"] == source) is same] for same in (True, False))
        without = fit(others)
        print(line(f"in   {source}", own, stored))
        print(line(f"out  {source}", own, without))
        large = [r for r in usable(own) if not r["size_bytes"] or float(r["size_bytes"].split()[0]) >= LARGE]
        held += list(np.abs(errors(large, without)))
    print(f"out of sample, all: {len(held)} median {np.median(held):.1%} P90 {np.quantile(held, 0.9):.1%}")


if __name__ == "__main__":
    main()
