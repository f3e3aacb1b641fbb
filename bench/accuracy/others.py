"""Errors of the models of collectives and convolutional networks, with each source held out of the fit."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import ModuleType

from bench.accuracy import fit_cnn, fit_collectives
from bench.accuracy.scores import Off

FITTED = Path(__file__).parents[2] / "src/clusterwright/catalog/data/fitted"


def collectives(*, held: bool) -> list[Off]:
    """Return errors of bus bandwidth of all measurements."""
    rows = fit_collectives.usable(_rows(fit_collectives.ROWS))
    return _offs(rows, fit_collectives, "collectives", "busbw_GBps", held=held)


def networks(*, held: bool) -> list[Off]:
    """Return errors of images per second of all measurements."""
    rows = fit_cnn.usable(_rows(fit_cnn.ROWS))
    return _offs(rows, fit_cnn, "cnn", "samples_per_s_total", held=held)


def scaling(*, held: bool) -> list[float]:
    """Return the error of scaling efficiency of each series, in points."""
    rows = fit_cnn.usable(_rows(fit_cnn.ROWS))
    if not held:
        return [off for off, _ in fit_cnn.scaling_errors(rows, _stored("cnn"))]
    return [
        off
        for source in sorted({row["source"] for row in rows})
        for off, _ in fit_cnn.scaling_errors(_of(rows, source), fit_cnn.fit(_but(rows, source)))
    ]


def _offs(rows: list[dict[str, str]], fitter: ModuleType, name: str, column: str, *, held: bool) -> list[Off]:
    """Return measurement and prediction of each row; `fitter` is the script that fits the stored table `name`."""
    found = []
    for source in sorted({row["source"] for row in rows}):
        mine = _of(rows, source)
        coefficients = fitter.fit(_but(rows, source)) if held else _stored(name)
        for row, error in zip(mine, fitter.errors(mine, coefficients), strict=True):
            measured = float(row[column])
            found.append(Off(source, _label(row), measured * (1 + float(error)), measured, group=_group(row)))
    return found


def _group(row: dict[str, str]) -> str:
    """Return `large` for messages of at least 64 MiB, `alone` for networks on one GPU."""
    if "busbw_GBps" in row:
        size = row["size_bytes"].split()[0] if row["size_bytes"] else ""
        return "large" if not size or float(size) >= fit_collectives.LARGE else "small"
    return "alone" if row["num_gpus"] == "1" else "many"


def _label(row: dict[str, str]) -> str:
    if "benchmark" in row:
        return f"{row['benchmark']} {row['num_gpus']} x {row['gpu_type']} {row['precision']}"
    size = f"{row['size_bytes']} bytes" if row["size_bytes"] else "large"
    return f"{row['collective']} {row['num_gpus'] or '?'} x {row['gpu_type']}, {row['fabric'][:40]}, {size}"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _of(rows: list[dict[str, str]], source: str) -> list[dict[str, str]]:
    return [row for row in rows if row["source"] == source]


def _but(rows: list[dict[str, str]], source: str) -> list[dict[str, str]]:
    return [row for row in rows if row["source"] != source]


def _stored(name: str) -> dict:
    return json.loads((FITTED / f"{name}.json").read_text(encoding="utf-8"))
