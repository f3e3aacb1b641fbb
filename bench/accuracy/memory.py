"""Errors of the memory model, and its verdicts on what fits."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from bench.accuracy import fit_memory
from bench.accuracy.scores import Off, Verdicts, verdicts
from bench.accuracy.speed_rows import TABLES
from bench.lib.rows import complete
from clusterwright.errors import WrightError
from clusterwright.plan import memory
from clusterwright.plan.memory.overheads import from_table
from clusterwright.plan.predict.lookup import CatalogLookup
from clusterwright.plan.predict.runs import run_of

PUBLISHED = Path(__file__).parent / "published"


def in_sample() -> list[Off]:
    """Return errors of peak memory with the stored coefficients."""
    stored = from_table(json.loads(fit_memory.STORED.read_text(encoding="utf-8")))
    return [_off(each, fit_memory.error(each, stored)) for each in fit_memory.measured_rows()]


def held_out() -> list[Off]:
    """Return errors of peak memory with each source held out."""
    return [_off(each, error) for each, error in fit_memory.held_out(fit_memory.measured_rows())]


def _off(each: fit_memory.MeasuredMemory, error: float) -> Off:
    name = each.row["model"].rsplit("/", 1)[-1]
    predicted = each.measured * (1 + error)
    label = f"{name} {each.row['gpu_type']} {fit_memory.kind(each)}"
    return Off(each.source, label, predicted, each.measured, complete(each.row), None, fit_memory.kind(each))


def fit_verdicts() -> tuple[Verdicts, list[str]]:
    """Return counts of correct predictions of what fits, over all published runs, and the runs predicted wrongly."""
    known, pairs, wrong = CatalogLookup(), [], []
    for table in (*TABLES, "megatron_golden"):
        with (PUBLISHED / f"{table}.csv").open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                pair = _verdict(row, known)
                if pair is None:
                    continue
                pairs.append(pair)
                if pair[0] != pair[1]:
                    cut = f"{row['num_gpus']} GPUs, tp {row['tp']}, pp {row['pp']}, microbatch {row['micro_batch']}"
                    wrong.append(f"{'ran' if pair[0] else 'ran out'}: {row['source']}, {row['model']}, {cut}")
    return verdicts(pairs), wrong


def _verdict(row: dict[str, str], known: CatalogLookup) -> tuple[bool, bool] | None:
    """Return whether a run fit in memory, and whether that was predicted; None if it is suspect or has no plan."""
    if row["status"] not in {"ok", "oom"}:
        return None
    try:
        run, _ = run_of(row, known)
    except WrightError:
        return None
    fit = memory.classify_fit(memory.peak(run), run.machine.gpu)
    return row["status"] == "ok", fit is not memory.MemoryFit.OOM
