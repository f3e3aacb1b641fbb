"""Fits the planner's coefficients on bench/accuracy/published and writes them to src/clusterwright/catalog/data/fitted.

    python -m bench.accuracy.fit_plan --date 2026-11-21 [--only speed]

Prints the error on each source by a fit without it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from bench.accuracy.speed_fit import errors, fit, leave_out, values
from bench.accuracy.speed_rows import Measured, load
from bench.accuracy.speed_spans import covered, spans
from bench.accuracy.speed_table import gates, line, table

FITTED = Path(__file__).parents[2] / "src" / "clusterwright" / "catalog" / "data" / "fitted"
LEFT_OUT = Path(__file__).with_name(
    "left_out.json"
)  # coefficients of fits without one source, or one publisher, in prior deviations
OTHERS = ("fit_memory", "fit_collectives", "fit_cnn")  # each has its own main()


def fit_speed(date: str) -> None:
    """Fit the time model: coefficients, ranges, and the table of held-out sources."""
    rows, left = load()
    trusted = [one for one in rows if one.trust]
    print(f"{len(rows)} runs, {len(trusted)} with shape and cut; left out: {dict(left)}", file=sys.stderr)
    whole = fit(trusted)
    sources, publishers = [one.source for one in trusted], [one.publisher for one in trusted]
    without = {
        "source": leave_out(trusted, whole, sources),
        "publisher": leave_out(trusted, whole, publishers),
    }
    held = errors(trusted, sources, without["source"])
    apart = errors(trusted, publishers, without["publisher"])
    stored = {
        "_fitted_on": fitted_on(trusted, date),
        "values": {name: float(f"{value:.4g}") for name, value in values(whole.x).items()},
        "span": spans([*trusted, *trusted], np.concatenate([held, apart])),
    }
    (FITTED / "speed.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    LEFT_OUT.write_text(json.dumps(rounded(without), indent=0) + "\n", encoding="utf-8")
    print(table(trusted, held))
    print(gates(trusted, held))
    print(line("complete rows, all of a publisher's sources left out", *complete(trusted, apart)))
    share = covered([*trusted, *trusted], np.concatenate([held, apart]))
    print(f"ranges hold {share:.0%} of complete runs whose source, or publisher, they have not seen")


def rounded(without: dict[str, dict[str, np.ndarray]]) -> dict[str, dict[str, list[float]]]:
    """Return the leave-one-out coefficients for left_out.json, rounded."""
    return {by: {name: x.round(4).tolist() for name, x in fits.items()} for by, fits in without.items()}


def complete(rows: list[Measured], held: np.ndarray) -> tuple[list[Measured], np.ndarray]:
    """Return the rows that state shape and parallel layout, and their errors."""
    whole = np.array([one.complete and not one.weak for one in rows])
    return [one for one, is_whole in zip(rows, whole, strict=True) if is_whole], held[whole]


def fitted_on(rows: list[Measured], date: str) -> dict[str, object]:
    """Return the provenance that is stored with the coefficients."""
    sources = Counter(one.source for one in rows)
    return {
        "date": date,
        "rows": len(rows),
        "sources": dict(sorted(sources.items())),
        "by": "bench/accuracy/fit_plan.py",
    }


def main() -> None:
    """Run all fits or one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--date", required=True, help="date stored with the coefficients")
    parser.add_argument("--only", choices=("speed", *OTHERS))
    chosen = parser.parse_args()
    for name in OTHERS:
        if chosen.only in {None, name} and (Path(__file__).parent / f"{name}.py").exists():
            importlib.import_module(name).main()
    if chosen.only in {None, "speed"}:
        fit_speed(chosen.date)


if __name__ == "__main__":
    main()
