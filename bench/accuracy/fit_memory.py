"""Fits the memory model's coefficients (memory beyond tensors), and prints the model's error on held-out sources.

    python -m bench.accuracy.fit_memory            fit, write catalog/data/fitted/memory.json, print the table
    python -m bench.accuracy.fit_memory --check    print the table only

Four coefficients are fitted, each as a median, so that no single row dominates: the remainder within the allocator
(rows below 8 GiB without experts), the load of the GPU with the most loaded experts (rows with experts), the
allocator's slack by family (rows with reserved memory or nvidia-smi's), and the spread of the residuals. The CUDA
context was measured (BigScience, A100).
"""

from __future__ import annotations

import csv
import json
import re
import statistics
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import WrightError
from clusterwright.plan.memory.overheads import Coefficients, from_table, outside
from clusterwright.plan.memory.peak import Definition, peak, reported
from clusterwright.plan.predict.cells import Cells
from clusterwright.plan.predict.infer_memory_notes import definition
from clusterwright.plan.predict.lookup import CatalogLookup
from clusterwright.plan.predict.runs import run_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clusterwright.plan.run import Run

HERE = Path(__file__).parent
STORED = HERE.parents[1] / "src/clusterwright/catalog/data/fitted/memory.json"
TABLES = ("megatron_golden", "simumax_b200", "torchtitan_lowprec", "bigscience", "misc_llm")
GIB = 2.0**30
CONTEXT = 1271 * 2.0**20  # MiB; BigScience's notes on their A100 nodes
SMALL = 8 * GIB  # rows below it show tens of MiB
SLACK, SLACK_ROWS = (
    0.05,
    20,
)  # prior and its weight in rows: logs of nanotron 3%, of SimuMax 5 and 7%
FAR = 0.25  # larger slack has another cause than the allocator
LOADS = tuple(1 + step / 20 for step in range(21))  # 1.00 to 2.00
UNFITTED = Coefficients(
    rest=0.0, imbalance=1.0, slack={"megatron": SLACK}, context=CONTEXT, typical=0.05, spread=0.1
)
ALLOCATOR = (Definition.ALLOCATED, Definition.LAST_RANK)
# Rules that were read in the sources of software of which the held-back tables have rows, with these rows in view (no
# coefficient was fitted on them).
LEANS = "whole_gradients, low_states, step_bytes, PyTorch's pipelines and losses, torchtitan's reserved memory (form)"


@dataclass(frozen=True, slots=True)
class MeasuredMemory:
    """A published run with its measured peak memory in bytes."""

    row: dict[str, str]
    run: Run
    meaning: Definition
    measured: float  # bytes

    @property
    def source(self) -> str:
        """The paper, page or repository of the row."""
        return self.row["source"]

    @property
    def reserved_over_allocated(self) -> float | None:
        """The allocator's slack from the row's notes, None without."""
        found = re.search(r"reserved ([\d.]+) GiB", self.row["notes_url"])
        return float(found[1]) * GIB / self.measured if found else None


def measured_rows(tables: Iterable[str] = TABLES) -> list[MeasuredMemory]:
    """Return all published rows that ran, have a measured memory, and can be planned."""
    known, found = CatalogLookup(), []
    for table in tables:
        with (HERE / "published" / f"{table}.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["status"] != "ok" or not row["measured_peak_mem_gib"]:
                    continue
                try:
                    run, _ = run_of(row, known)
                except WrightError:
                    continue
                found.append(
                    MeasuredMemory(
                        row, run, definition(Cells.from_row(row)), float(row["measured_peak_mem_gib"]) * GIB
                    )
                )
    return found


def fit(rows: list[MeasuredMemory]) -> dict[str, Any]:
    """Return the coefficients of the memory model, fitted on these rows."""
    dense = [each for each in rows if not each.run.training.architecture.experts]
    small = [each for each in dense if each.measured < SMALL and each.meaning in ALLOCATOR]
    left = [each.measured - float(reported(each.run, each.meaning, UNFITTED)) for each in small]
    first = replace(UNFITTED, rest=max(0.0, statistics.median(left)) if left else 0.0)
    routed = [each for each in rows if each.run.training.architecture.experts]
    first = replace(first, imbalance=_load(routed, first))
    return {
        "rest": round(first.rest),
        "imbalance": first.imbalance,
        "slack": _slack(rows, first),
        "context": CONTEXT,
        "typical": UNFITTED.typical,
        "spread": UNFITTED.spread,
    }


def _load(rows: list[MeasuredMemory], first: Coefficients) -> float:
    """Return the fitted load of the most loaded GPU: the mean of the sources, which measured it differently."""
    sources = {each.source for each in rows}
    own = [_load_of([each for each in rows if each.source == source], first) for source in sorted(sources)]
    return round(statistics.fmean(own), 2) if own else 1.0


def _load_of(rows: list[MeasuredMemory], first: Coefficients) -> float:
    def off(load: float) -> float:
        tried = replace(first, imbalance=load)
        return statistics.fmean(min(abs(error(each, tried)), FAR) for each in rows)

    return min(LOADS, key=off)


def _slack(rows: list[MeasuredMemory], first: Coefficients) -> dict[str, float]:
    shares: dict[str, list[float]] = {}
    for each in rows:
        said = each.reserved_over_allocated
        if each.meaning in ALLOCATOR and said is None:
            continue
        beyond = float(outside(each.run, first)) if each.meaning is Definition.TOTAL else 0.0
        allocated = float(peak(each.run, first).allocated)
        share = said if said is not None else (each.measured - beyond) / allocated
        shares.setdefault(each.run.stack.family, []).append(max(0.0, share - 1))
    known = {"fsdp": [], "megatron": [], **shares}
    return {family: round(_drawn(values), 4) for family, values in sorted(known.items())}


def _drawn(values: list[float]) -> float:
    """Return the median of the slack, shrunk towards the prior if rows are few."""
    middle = statistics.median(values) if values else SLACK
    return (middle * len(values) + SLACK * SLACK_ROWS) / (len(values) + SLACK_ROWS)


def error(each: MeasuredMemory, fitted: Coefficients) -> float:
    """Return predicted / measured - 1 of a row's peak memory."""
    return float(reported(each.run, each.meaning, fitted)) / each.measured - 1


def held_out(rows: list[MeasuredMemory]) -> list[tuple[MeasuredMemory, float]]:
    """Return the error of each row by a fit without its source."""
    found = []
    for source in dict.fromkeys(each.source for each in rows):
        fitted = from_table(fit([each for each in rows if each.source != source]))
        found += [(each, error(each, fitted)) for each in rows if each.source == source]
    return found


def table(errors: list[tuple[MeasuredMemory, float]], key: Callable[[MeasuredMemory], str]) -> list[str]:
    """Format lines of median, P90, bias and worst row, by source or kind."""
    lines = []
    for name in dict.fromkeys(key(each) for each, _ in errors):
        own = [(each, off) for each, off in errors if key(each) == name]
        sizes = sorted(abs(off) for _, off in own)
        worst, by = max(own, key=lambda pair: abs(pair[1]))
        bias = statistics.median(off for _, off in own)
        lines.append(
            f"{name[:46]:46} {len(own):4} {statistics.median(sizes):7.1%} {sizes[int(0.9 * (len(sizes) - 1))]:7.1%}"
            f" {bias:+7.1%}  {worst.row['model'].rsplit('/', 1)[-1][:40]} {by:+.0%}"
        )
    return lines


def kind(each: MeasuredMemory) -> str:
    """Return the kind of a row's plan, a row of the table of errors."""
    run = each.run
    model, cut = run.training.architecture, run.layout
    if cut.zero >= 3:
        return "FSDP, ZeRO-3"
    if model.attention == "mla":
        return "latent attention"
    if model.experts:
        return "experts"
    return "context parallel" if cut.cp > 1 else "dense"


def report(rows: list[MeasuredMemory]) -> list[tuple[MeasuredMemory, float]]:
    """Print errors by source and by kind, and return them."""
    errors = held_out(rows)
    print(f"{'left out of the fit':46} rows  median     P90    bias  worst row")
    print("\n".join(table(errors, lambda each: each.source)), end="\n\n")
    print("\n".join(table(errors, kind)), end="\n\n")
    print("\n".join(table(errors, lambda _: "all")))
    return errors


def main() -> None:
    """Fit on all rows, write, and report the held-out errors."""
    rows = measured_rows()
    large = [off for each, off in report(rows) if each.measured > SMALL]  # the goal is for these
    sizes = sorted(abs(off) for off in large)
    fitted = fit(rows) | {"typical": round(statistics.median(sizes), 4)}
    fitted["spread"] = round(sizes[int(0.75 * (len(sizes) - 1))], 4)
    stored = from_table(fitted)
    print("\nfitted on all:", json.dumps(fitted))
    print("\n".join(table([(each, error(each, stored)) for each in rows], lambda _: "all, in the fit")))
    if "--check" not in sys.argv:
        note = {
            "_fitted_on": f"{len(rows)} rows of bench/accuracy/published: {', '.join(TABLES)}",
            "_leans_on": LEANS,
        }
        STORED.write_text(json.dumps(note | fitted, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
