"""The published runs that the time model is fitted on: a `Run`, its measured seconds, and its weight."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from bench.lib.rows import complete
from clusterwright.errors import WrightError
from clusterwright.plan import flops
from clusterwright.plan.predict.lookup import CatalogLookup
from clusterwright.plan.predict.runs import run_of
from clusterwright.plan.run import Run

PUBLISHED = Path(__file__).parent / "published"
TABLES = (
    "bigscience", "dgxc_benchmarking", "llm_foundry", "megatron_bridge", "megatron_lm", "misc_llm",
    "nemo", "published", "simumax_b200", "torchtitan_lowprec",
)  # fmt: skip
GUESSED = 0.1  # weight if even the shape is inferred from the number of parameters
WEAK = 0.3  # weight of a time derived from published FLOP/s, by the source's formula


@dataclass(frozen=True, slots=True)
class Measured:
    """One published run with its measured seconds per step."""

    run: Run
    seconds: float
    source: str
    row: dict[str, str]
    complete: bool
    weak: bool

    @property
    def trust(self) -> float:
        """The row's weight in the fit: low if shape or parallel layout were inferred, or the time was derived."""
        row = self.row
        told = bool(row["tp"] and row["pp"]) or row["dp_or_fsdp"].startswith("FSDP")
        if not (told and row["global_batch"]):
            return 0.0
        limited = 0.5 if "power limited" in row["gpu_type"] else 1.0  # the limit is unknown
        shape = 1.0 if self.complete else 0.6 if self.known_shape or row["hidden"] else GUESSED
        return (WEAK if self.weak else 1.0) * shape * limited

    @property
    def publisher(self) -> str:
        """The publisher of the source: `Megatron-Bridge`, `BigScience`."""
        return self.source.split()[0]

    @property
    def known_shape(self) -> bool:
        """True if the shape is from the catalog, not inferred from the number of parameters."""
        return bool(self.run.training.architecture.source)

    @property
    def label(self) -> str:
        """A label that identifies the row."""
        row = self.row
        cut = "/".join(
            row[k] or "-" for k in ("num_gpus", "tp", "pp", "cp", "ep", "micro_batch", "global_batch")
        )
        return f"{row['model']} {row['gpu_type']} {row['precision']} s{row['seq_len']} {cut}"


def load(tables: tuple[str, ...] = TABLES) -> tuple[list[Measured], Counter[str]]:
    """Return all rows of pretraining that ran, and the counts of omitted rows by reason."""
    known, kept, left = CatalogLookup(), [], Counter()
    for table in tables:
        with (PUBLISHED / f"{table}.csv").open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                one = measured(row, known, left)
                if one:
                    kept.append(one)
    return kept, left


def measured(row: dict[str, str], known: CatalogLookup, left: Counter[str]) -> Measured | None:
    """Return the row as a run with its time; None, counted in `left`, without a time or if it cannot be parsed."""
    if row["status"] != "ok" or row["task"] != "pretrain":
        left[f"{row['status']} {row['task'][:20]}"] += 1
        return None
    try:
        run, _ = run_of(row, known)
    except WrightError as error:
        left[error.findings[0].code + ": " + error.findings[0].message] += 1
        return None
    seconds, weak = seconds_of(row, run)
    if not seconds:
        left["no time, and no FLOP/s to derive it from"] += 1
        return None
    return Measured(run, seconds, row["source"], row, complete(row), weak)


def seconds_of(row: dict[str, str], run: Run) -> tuple[float, bool]:
    """Return the measured seconds of an iteration, and whether they were derived from FLOP/s."""
    if row["measured_iter_time_s"]:
        return float(row["measured_iter_time_s"]), False
    gpus, tokens = run.machine.gpus, run.training.global_batch * run.training.seq_len
    if row["measured_tokens_per_s_per_gpu"]:
        return tokens / (float(row["measured_tokens_per_s_per_gpu"]) * gpus), False
    if not row["layers"]:
        return 0.0, True
    if row["measured_tflops_per_gpu"]:
        return printed_flops(row, run) * tokens / (float(row["measured_tflops_per_gpu"]) * 1e12 * gpus), True
    share = float(row["measured_mfu"] or 0)
    peak = run.machine.gpu.peak.get("bf16" if run.training.precision == "bf16" else "fp16", 0.0)
    reached = peak * (share / 100 if share > 1 else share)
    plain = {**row, "recompute": ""}  # model FLOPs leave recomputation out
    return (printed_flops(plain, run) * tokens / (reached * gpus) if reached else 0.0), True


def printed_flops(row: dict[str, str], run: Run) -> float:
    """Return the FLOPs per token as the source counts them."""
    model, length = run.training.architecture, run.training.seq_len
    if "causal attention" in row["notes_url"]:
        return flops.training(model, length)
    # Narayanan et al. 2104.04473, equation 2: attention over the full square; 96 with recomputation, else 72.
    repeated = 96 if row["recompute"] == "full" else 72
    shape = repeated * model.layers * model.hidden**2
    return shape * (1 + length / (6 * model.hidden) + model.vocab / (16 * model.layers * model.hidden))


if __name__ == "__main__":
    rows, left_out = load()
    print(
        len(rows),
        "rows,",
        sum(one.complete for one in rows),
        "complete,",
        sum(one.weak for one in rows),
        "weak",
    )
    for reason, count in left_out.most_common():
        print(f"{count:5} {reason}")
    for source, count in sorted(Counter(one.source for one in rows).items()):
        print(f"{count:5} {source}")
