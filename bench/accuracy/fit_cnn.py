"""Fits catalog/data/fitted/cnn.json on bench/accuracy/published/cnn_training.csv (convolutional networks).

Every coefficient has a prior and a width; without rows it stays at the prior. Run: python -m bench.accuracy.fit_cnn
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from clusterwright.plan.cnn.coefficients import from_table
from clusterwright.plan.cnn.rows import read
from clusterwright.plan.cnn.step import step

HERE = Path(__file__).parent
ROWS = HERE / "published" / "cnn_training.csv"
OUT = HERE.parents[1] / "src/clusterwright/catalog/data/fitted/cnn.json"
DEEP = "share of peak of a deep convolution"
JOULE = "2.5 times power over peak (memory and clocks beside the matrix units) of "
STREAM = "share of peak that a copy in device memory reaches"
# Coefficients without rows in this table: their form or fixed prior depends on the held-back tables.
LEANS = "group_width, squeeze_16 and _32 of pytorch and pytorch-nchw (priors); rate, tensorflow-xla, traffic_32 (form)"
SQUEEZE = "7 passes if fused, twice as many in fp32 if not; no row: from the held-back tables (SE-ResNeXt)"
PLAIN = (17.0, "norm 8, activation 5, sums 2, none of them fused in fp32, and copies of what is kept")
PRIORS = {
    "compute.Volta": (0.7, 0.12, DEEP),
    "compute.Ampere": (0.7, 0.12, DEEP),
    "compute.Ampere graphics": (0.75, 0.12, DEEP + "; graphics cards exceed their nominal clock"),
    "compute.Ada": (0.75, 0.12, DEEP + "; as graphics dies of Ampere"),
    "compute.Hopper": (0.65, 0.12, DEEP),
    "stream.Volta": (0.85, 0.1, STREAM),
    "stream.Ampere": (0.85, 0.1, STREAM),
    "stream.Ampere graphics": (0.85, 0.1, STREAM),
    "stream.Ada": (0.9, 0.1, STREAM + "; a large cache"),
    "stream.Hopper": (0.85, 0.1, STREAM),
    "software.pytorch.squeeze_16": (28.0, 0.2, SQUEEZE),
    "software.pytorch.squeeze_32": (14.0, 0.2, SQUEEZE),
    "software.pytorch-nchw.squeeze_16": (28.0, 0.2, SQUEEZE),
    "software.pytorch-nchw.squeeze_32": (14.0, 0.2, SQUEEZE),
    "software.mxnet.traffic_16": (9.0, 0.2, "fused norm and activation: 3 forward, 5 backward, the sums"),
    "software.mxnet.traffic_32": (PLAIN[0], 0.2, PLAIN[1] + "; no row"),
    "software.mxnet.image_s": (5e-6, 0.5, "decoded beside the training"),
    "software.mxnet.layer_s": (5e-5, 0.5, "ten kernels of 5 us"),
    "software.mxnet.exposed": (0.3, 0.7, ""),
    "software.pytorch.traffic_16": (15.0, 0.2, "fused: 8; activation 5; sums 2"),
    "software.pytorch.traffic_32": (18.5, 0.2, "as channels first: in fp32 the same program; no row"),
    "software.pytorch.image_s": (1e-4, 0.7, "as channels first; no row"),
    "software.pytorch.layer_s": (8e-5, 0.5, "ten kernels, each launched from Python"),
    "software.pytorch.exposed": (0.3, 0.7, ""),
    "software.pytorch-nchw.traffic_16": (25.0, 0.2, "as above, and each convolution's transposes: 10"),
    "software.pytorch-nchw.traffic_32": (PLAIN[0], 0.1, PLAIN[1]),
    "software.pytorch-nchw.image_s": (1e-4, 1.0, ""),
    "software.pytorch-nchw.layer_s": (8e-5, 0.5, "as channels last"),
    "software.pytorch-nchw.exposed": (0.3, 0.7, ""),
    "software.tensorflow.traffic_16": (13.0, 0.2, "between MXNet's and PyTorch's; no row"),
    "software.tensorflow.traffic_32": (PLAIN[0], 0.2, PLAIN[1] + "; no row"),
    "software.tensorflow.image_s": (5e-5, 0.7, "no row"),
    "software.tensorflow.layer_s": (8e-5, 0.5, "no row"),
    "software.tensorflow.exposed": (0.5, 0.7, "no row"),
    "software.tensorflow-xla.traffic_16": (
        11.0,
        0.2,
        "between TensorFlow's and MXNet's fused kernels; no row",
    ),
    "software.tensorflow-xla.traffic_32": (PLAIN[0], 0.2, PLAIN[1] + "; no row"),
    "software.tensorflow-xla.image_s": (5e-5, 0.7, "no row"),
    "software.tensorflow-xla.layer_s": (5e-5, 0.5, "fewer kernels; no row"),
    "software.tensorflow-xla.exposed": (0.5, 0.7, "no row"),
    "software.bert.traffic_16": (
        14.0,
        0.3,
        "masks, softmax, dropout of the scores: 6 forward, 8 backward; norms alike",
    ),
    "software.bert.traffic_32": (14.0, 0.3, "likewise"),
    "software.bert.image_s": (1e-4, 1.0, ""),
    "software.bert.layer_s": (3e-5, 0.7, "of one matrix product, with what follows it"),
    "software.bert.exposed": (0.9, 0.3, "reduced after the backward pass"),
    "software.bert.compute": (1.1, 0.2, "plain products need no gathering of pixels"),
    "software.bert.joules": (0.6, 0.4, "larger tiles read their operands less often"),
    "rate.tf32": (
        0.7,
        0.15,
        "operands of twice the bytes through the same caches; form from the held-back tables",
    ),
    "rate.fp32": (1.2, 0.15, "plain units are fed more easily; likewise"),
    "group_width": (3.0, 0.2, "little reuse in narrow groups; no row: from the held-back tables"),
    "softness": (2.5, 0.3, "compute and memory traffic overlap in part"),
    "depth": (32.0, 0.5, "a tile of the tensor cores is 16 or 32 deep"),
    "winograd": (1.5, 0.2, "at most 2.25 (Lavin and Gray 1509.09308)"),
    "joule_per_flop.Volta": (6.0e-12, 0.15, JOULE + "V100"),
    "joule_per_flop.Ampere": (3.2e-12, 0.4, JOULE + "A100"),
    "joule_per_flop.Ampere graphics": (5.0e-12, 0.4, JOULE + "A40"),
    "joule_per_flop.Ada": (2.1e-12, 0.4, JOULE + "RTX 6000 Ada"),
    "joule_per_flop.Hopper": (1.8e-12, 0.4, JOULE + "H100"),
    "jitter": (0.02, 0.7, ""),
}
GRADIENT_BYTES = {
    "mxnet": 2,
    "pytorch": 4,
    "pytorch-nchw": 4,
    "tensorflow": 4,
    "tensorflow-xla": 4,
    "bert": 2,
}  # gradients of DDP have the precision of the weights, fp32


# Physical limits: Winograd's algorithm saves at most 2.25, and only a large cache exceeds memory bandwidth.
CEILING = dict.fromkeys((path for path in PRIORS if path.startswith("stream.")), 1.0)
CEILING |= {"winograd": 2.25, "stream.Ada": 1.2}


def usable(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows with a throughput and a known network."""
    with_result = [row for row in rows if float(row["samples_per_s_total"] or 0) > 0]
    return [row for row in with_result if read(row, []) is not None]


def weights(rows: list[dict[str, str]]) -> np.ndarray:
    """Return row weights: all rows of a GPU, precision and GPU count together count as the root of their number."""
    keys = [
        (row["source"], row["benchmark"], row["gpu_type"], row["precision"], row["num_gpus"]) for row in rows
    ]
    many = Counter(keys)
    return np.array([1 / many[key] ** 0.5 for key in keys])


def table(values: np.ndarray) -> dict:
    """Return the coefficients in their stored form."""
    out: dict = {}
    for path, value in zip(PRIORS, values, strict=True):
        where, (*parents, last) = out, path.split(".")
        for parent in parents:
            where = where.setdefault(parent, {})
        where[last] = float(value)
    for name, gradient in GRADIENT_BYTES.items():
        out["software"][name]["gradient_bytes"] = gradient
    return out


def fit(rows: list[dict[str, str]]) -> dict:
    """Fit coefficients by robust least squares of logarithms, with priors."""
    rows = usable(rows)
    start = np.log([prior for prior, _, _ in PRIORS.values()])
    width = np.array([width for _, width, _ in PRIORS.values()])
    jobs = [read(row, []) for row in rows]
    names = [repr(job) for job in jobs]
    unlike = dict(zip(names, jobs, strict=True))
    measured = np.log([float(row["samples_per_s_total"]) for row in rows])
    weighed = weights(rows)

    def residuals(theta: np.ndarray) -> np.ndarray:
        c = from_table(table(np.exp(theta)))
        each = {name: step(job, c).images_per_s for name, job in unlike.items()}
        predicted = np.log([each[name] for name in names])
        return np.concatenate([weighed * (predicted - measured) / 0.04, (theta - start) / width])

    most = np.log([CEILING.get(path, math.inf) for path in PRIORS])
    found = least_squares(
        residuals, start, bounds=(-math.inf, most), loss="cauchy", max_nfev=20, diff_step=1e-4
    )
    return table(np.array([float(f"{value:.4g}") for value in np.exp(found.x)]))


def errors(rows: list[dict[str, str]], stored: dict) -> np.ndarray:
    """Return predicted / measured - 1 of each row with the stored coefficients."""
    c = from_table(stored)
    return np.array(
        [step(read(row, []), c).images_per_s / float(row["samples_per_s_total"]) - 1 for row in rows]
    )


def line(name: str, rows: list[dict[str, str]], stored: dict) -> str:
    """Format one line of the report: the errors of some rows."""
    if not rows:
        return f"{name:42s} no row"
    found = errors(rows, stored)
    worst = int(np.argmax(np.abs(found)))
    said = " ".join(rows[worst][key] for key in ("gpu_type", "num_gpus", "system"))
    size = np.abs(found)
    return (
        f"{name[:42]:42s} {len(rows):4d} median {np.median(size):6.1%} P90 {np.quantile(size, 0.9):6.1%} "
        f"bias {np.mean(found):+6.1%} worst {found[worst]:+.0%} {said}"
    )


def alone(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows with one GPU."""
    return [row for row in rows if row["num_gpus"] == "1"]


def scaling_errors(rows: list[dict[str, str]], stored: dict) -> list[tuple[float, str]]:
    """Return predicted minus measured scaling efficiency, against the smallest run of the same series."""
    series: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        series.setdefault(_series(row), []).append(row)
    c, out = from_table(stored), []
    for members in series.values():
        first = min(members, key=lambda row: int(row["num_gpus"]))
        for row in members:
            if int(row["num_gpus"]) > int(first["num_gpus"]):
                said = _per_gpu(step(read(row, []), c).images_per_s, row)
                base = _per_gpu(step(read(first, []), c).images_per_s, first)
                seen = _per_gpu(float(row["samples_per_s_total"]), row) / _per_gpu(
                    float(first["samples_per_s_total"]), first
                )
                out.append((said / base - seen, f"{row['system']} over {first['system']}"))
    return out


def _series(row: dict[str, str]) -> tuple[str, ...]:
    maker = "".join(ch for ch in row["system"].split()[0] if ch.isalpha()) if row["source"][0] == "L" else ""
    chip = row["gpu_type"].replace("SXM4", "SXM").removesuffix(" CTS")
    return row["source"], row["benchmark"], row["submitter"] or maker, chip, row["precision"]


def _per_gpu(total: float, row: dict[str, str]) -> float:
    return total / int(row["num_gpus"])


def report(name: str, rows: list[dict[str, str]], stored: dict) -> None:
    """Print the errors of throughput and scaling."""
    print(line(name, rows, stored))
    print(line("  one GPU", alone(rows), stored))
    for kind in ("ResNet", "BERT"):
        print(line(f"  {kind}", [row for row in rows if row["benchmark"].startswith(kind)], stored))
    off = scaling_errors(rows, stored)
    if off:
        worst = max(off, key=lambda each: abs(each[0]))
        sizes = [abs(each) for each, _ in off]
        print(
            f"  scaling: {len(off)} median {100 * np.median(sizes):.1f} points, "
            f"P90 {100 * np.quantile(sizes, 0.9):.1f}, worst {100 * worst[0]:+.1f} {worst[1]}"
        )


def report_gpus(rows: list[dict[str, str]]) -> None:
    """Print the error on each GPU by a fit without its rows (ten more fits)."""
    for chip in sorted({row["gpu_type"] for row in rows}):
        own, others = ([row for row in rows if (row["gpu_type"] == chip) is same] for same in (True, False))
        print(line(f"out {chip}", own, fit(others)))


def main() -> None:
    """Fit, write, and print errors in and out of sample; `--gpus`: also without each GPU."""
    rows = list(csv.DictReader(ROWS.read_text("utf-8").splitlines()))
    mine = usable(rows)
    stored = fit(rows)
    stored["_fitted_on"] = dict(Counter(row["source"] for row in mine)) | {
        "leans on the held-back tables": LEANS
    }
    stored["_priors"] = {
        path: f"{p:g} x/ {math.exp(w):.2f}: {reason}" for path, (p, w, reason) in PRIORS.items()
    }
    OUT.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    report("in sample, all", mine, stored)
    for source in sorted({row["source"] for row in mine}):
        own, others = ([row for row in mine if (row["source"] == source) is same] for same in (True, False))
        report(f"in  {source}", own, stored)
        report(f"out {source}", own, fit(others))
    if "--gpus" in sys.argv:
        report_gpus(mine)


if __name__ == "__main__":
    main()
