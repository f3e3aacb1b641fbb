"""Prediction errors on sources that no fit has used, predicted as by `wright plan predict`.

python -m bench.accuracy.unseen_sources           a line per source: rows, error, bias, share within P10 to P90, worst
python -m bench.accuracy.unseen_sources --rows    every row, the worst first
python -m bench.accuracy.unseen_sources --json    everything as one JSON document

An error is predicted / measured - 1, of seconds per step, GiB, GB/s of bus bandwidth, or images per second.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.accuracy.scores import Off, by, score
from bench.accuracy.speed_rows import seconds_of
from bench.lib.rows import complete
from clusterwright.plan.predict.lookup import CatalogLookup
from clusterwright.plan.predict.runs import run_of
from clusterwright.plan.predict.table_prediction import predict

UNSEEN = Path(__file__).parent / "unseen"
LARGE = 64 * 2**20  # bytes from which a collective is bound by bandwidth
KINDS = ("time", "memory", "collectives, 64 MiB and more", "collectives, less", "networks")


@dataclass(frozen=True, slots=True)
class Answered:
    """A row of a table with the columns of its prediction, and its file."""

    file: str
    row: dict[str, str]

    @property
    def refused(self) -> bool:
        """Whether the planner refused to predict the row."""
        return self.row["prediction_note"].startswith("error[")


def answered() -> list[Answered]:
    """Return all rows of all tables with their predictions, without suspect rows."""
    found = []
    for path in sorted(UNSEEN.glob("*.csv")):
        text = predict(path.read_bytes(), path.name).text
        found += [Answered(path.name, row) for row in csv.DictReader(io.StringIO(text))]
    return [one for one in found if one.row.get("status", "ok") == "ok"]


def offs(rows: Iterable[Answered]) -> list[Off]:
    """Yield each measurement with its prediction, grouped by kind of measurement."""
    known = CatalogLookup()
    return [each for one in rows if not one.refused for each in _offs(one.row, known)]


def _offs(row: dict[str, str], known: CatalogLookup) -> Iterator[Off]:
    if "collective" in row:
        yield _collective(row)
    elif "benchmark" in row:
        label = (
            f"{row['benchmark']} {row['num_gpus']} x {row['gpu_type']} {row['precision']}, {row['framework']}"
        )
        predicted, measured = float(row["predicted_samples_per_s_total"]), float(row["samples_per_s_total"])
        yield Off(row["source"], label, predicted, measured, group=KINDS[4])
    else:
        yield from _run(row, known)


def _collective(row: dict[str, str]) -> Off:
    size = int(row["size_bytes"])
    label = (
        f"{row['collective']} {row['num_gpus']} x {row['gpu_type']}, {row['fabric'][:40]}, {size >> 20} MiB"
    )
    predicted, measured = float(row["predicted_busbw_gbps"]), float(row["busbw_GBps"])
    return Off(row["source"], label, predicted, measured, group=KINDS[2] if size >= LARGE else KINDS[3])


def _run(row: dict[str, str], known: CatalogLookup) -> Iterator[Off]:
    """Yield time and memory of a training run, as far as measured."""
    label, whole = _label(row), complete(row)
    seconds, derived = seconds_of(row, run_of(row, known)[0])
    if seconds:
        low, high = (float(row[f"predicted_iter_time_{part}_s"]) for part in ("p10", "p90"))
        inside = None if derived else low <= seconds <= high
        predicted = float(row["predicted_iter_time_s"])
        yield Off(row["source"], label, predicted, seconds, whole, inside, KINDS[0])
    if row["measured_peak_mem_gib"]:
        predicted, measured = (float(row[f"{word}_peak_mem_gib"]) for word in ("predicted", "measured"))
        yield Off(row["source"], label, predicted, measured, whole, None, KINDS[1])


def _label(row: dict[str, str]) -> str:
    cut = "/".join(row[name] or "-" for name in ("num_gpus", "tp", "pp", "cp", "micro_batch", "global_batch"))
    how = f"{row['precision']} s{row['seq_len'] or '-'} {cut} {row['recompute']}"
    return f"{row['model']} {row['gpu_type']} {how}"


def lines(rows: list[Off]) -> Iterator[dict[str, object]]:
    """Yield a record per kind and source, and one per kind."""
    for kind in KINDS:
        mine = [each for each in rows if each.group == kind]
        for source, members in (*by(mine, lambda each: each.source).items(), ("all", mine)):
            if members:
                yield {"kind": kind, "source": source, **_record(members)}


def _record(members: list[Off]) -> dict[str, object]:
    found = score(members)
    return {
        "rows": found.rows,
        "median": found.median,
        "p90": found.p90,
        "bias": found.bias,
        "inside": found.inside,
        "worst": found.worst.label,
        "worst_error": found.worst.error,
    }


def main() -> int:
    """Predict and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = answered()
    found, refused = offs(rows), [one for one in rows if one.refused]
    if asked.json:
        print(json.dumps(_document(found, refused), indent=1))
        return 0
    for one in refused:
        print(f"refused: {one.file}, {one.row['source']}: {one.row['prediction_note']}")
    _table(found)
    if asked.rows:
        _each(found)
    return 0


def _document(found: list[Off], refused: list[Answered]) -> dict[str, object]:
    each = [
        {
            "kind": one.group,
            "source": one.source,
            "row": one.label,
            "predicted": one.predicted,
            "measured": one.measured,
            "error": one.error,
            "inside": one.inside,
        }
        for one in found
    ]
    notes = [{"source": one.row["source"], "note": one.row["prediction_note"]} for one in refused]
    return {"sources": list(lines(found)), "rows": each, "refused": notes}


def _table(found: list[Off]) -> None:
    kind = ""
    for line in lines(found):
        if line["kind"] != kind:
            kind = str(line["kind"])
            print(f"\n{kind:62s} rows  median     P90    bias  inside  worst")
        inside = "-" if line["inside"] is None else f"{line['inside']:.0%}"
        print(
            f"  {str(line['source'])[:60]:60s} {line['rows']:4d} {line['median']:7.1%} {line['p90']:7.1%} "
            f"{line['bias']:+7.1%} {inside:>7s}  {line['worst_error']:+.0%} {line['worst']}"
        )


def _each(found: list[Off]) -> None:
    for one in sorted(found, key=lambda each: (each.group, -abs(each.error))):
        inside = {None: " ", True: "in", False: "out"}[one.inside]
        print(
            f"{one.group[:12]:12s} {one.error:+7.1%} {inside:3s} {one.predicted:10.4g} {one.measured:10.4g}  "
            f"{one.source[:34]:34s} {one.label}"
        )


if __name__ == "__main__":
    raise SystemExit(main())
