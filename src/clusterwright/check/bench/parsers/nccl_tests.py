"""What all_reduce_perf and its kin print: nccl-tests 2.0 to 2.18 and rccl-tests, by mpirun or not; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BY_MPI = re.compile(r"^\s*\[\d+,\d+\]<std(?:out|err)>:")
_ROW = re.compile(r"^\s*\d+\s+\d+\s+[a-z]\w*\s")
_AVERAGE = re.compile(r"# Avg bus bandwidth\s*:\s*([\d.]+)")
_OUT_OF_BOUNDS = re.compile(r"# Out of bounds values\s*:\s*(\d+)")


@dataclass(frozen=True, slots=True)
class Row:
    """One size, out of place: bytes, elements, type, seconds, bytes/s; `wrong` None where data was not checked."""

    size: int
    count: int
    type: str
    redop: str
    seconds: float
    alg_bw: float
    bus_bw: float
    wrong: int | None


@dataclass(frozen=True, slots=True)
class NcclTests:
    """All rows, the average over them that the program prints, and values that were out of bounds."""

    rows: tuple[Row, ...]
    average: float | None
    out_of_bounds: int | None


def nccl_tests(out: str) -> NcclTests:
    """The figures of a run.

    Raises:
        ValueError: there are none; with its last words.
    """
    lines = [_BY_MPI.sub("", line) for line in out.splitlines()]
    rows = tuple(_rows(lines))
    if not rows:
        raise ValueError(" ".join(line.strip() for line in lines[-2:]) or "(nothing)")
    text = "\n".join(lines)
    average, wrong = _AVERAGE.search(text), _OUT_OF_BOUNDS.search(text)
    return NcclTests(rows, float(average[1]) * 1e9 if average else None, int(wrong[1]) if wrong else None)


def _rows(lines: list[str]) -> Iterator[Row]:
    """Rows by the columns of the heading above them; of the two sets the first, which is out of place."""
    names: list[str] = []
    for line in lines:
        words = line.strip().lstrip("#").split()
        if words[:2] == ["size", "count"]:
            names = words
        elif names and _ROW.match(line):
            cells: dict[str, str] = {}
            for name, cell in zip(names, words, strict=False):
                cells.setdefault(name, cell)
            yield _row(cells)


def _row(cells: dict[str, str]) -> Row:
    # before 2.13 the last column was the largest `error` of a float, which says nothing by itself
    wrong = cells.get("#wrong", "N/A")
    return Row(
        int(cells["size"]),
        int(cells["count"]),
        cells["type"],
        cells.get("redop", "none"),
        float(cells["time"]) / 1e6,
        float(cells["algbw"]) * 1e9,
        float(cells["busbw"]) * 1e9,
        None if wrong == "N/A" else int(wrong),
    )
