"""What all benches of this folder share: the raw line, the options, the order of trials, median and spread.

Nothing but the standard library, so that a script for any rival may import it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

HERE = Path(__file__).parent
RAW = HERE / "raw"
EXPERIMENTS = {  # name in the lines: number in the page
    "kill": 1, "storm": 1, "hang": 2, "hosts": 3, "handoff": 4, "bitwise": 5, "checkpoint": 6, "integrity": 7,
    "leftovers": 8, "overhead": 8, "copies": 8, "ledger": 8,
}  # fmt: skip
T = TypeVar("T")


class Spread(NamedTuple):
    """A median with what lies around it."""

    median: float
    least: float
    most: float
    count: int


class Lines:
    """Where raw lines go: a file of this run alone, or standard output."""

    def __init__(self, experiment: str, out: str = "-") -> None:
        if experiment not in EXPERIMENTS:
            raise ValueError(f"{experiment}: no such experiment, only {', '.join(EXPERIMENTS)}")
        self._experiment = experiment
        self._out = out

    def write(self, system: str, **more: Any) -> dict[str, Any]:
        """One trial; `more` as README.md says. Written at once, so that a bench that dies has told what it saw."""
        line = {
            "experiment": self._experiment, "system": system, "flags": "best", "case": "", "seed": 0,
            "outcome": "ok", "seconds": {}, "figures": {}, "versions": versions(), "time": round(time.time(), 3),
            **more,
        }  # fmt: skip
        line.setdefault("load", load())
        text = json.dumps(_short(line), allow_nan=False) + "\n"
        if self._out == "-":
            print(text, end="", flush=True)
        else:
            with Path(self._out).open("a", encoding="utf-8") as file:
                file.write(text)
        return line


def load() -> float:
    """The load average of the last minute; taken where a trial begins."""
    return round(os.getloadavg()[0], 2)


def versions(**more: str) -> dict[str, str]:
    """What the line is about: Python, torch, ours, the machine, and `more`."""
    found = {"python": platform.python_version(), "cpus": str(os.cpu_count())}
    for name in ("torch", "clusterwright"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {**found, **more}


def _short(value: Any) -> Any:
    """Times to the millisecond and figures to five digits: lines are kept and read."""
    if isinstance(value, float):
        return float(f"{value:.5g}") if abs(value) < 1e5 else round(value, 3)
    if isinstance(value, Mapping):
        return {key: _short(each) for key, each in value.items()}
    return [_short(each) for each in value] if isinstance(value, list | tuple) else value


def options(
    what: str, *, seeds: int = 10, quick: int = 2, more: argparse.ArgumentParser | None = None
) -> argparse.Namespace:
    """`--out FILE`, `--seeds N`, `--quick`, `--systems 'A|B'`, and `more`; `seeds` is settled when it returns."""
    parser = argparse.ArgumentParser(
        description=what, formatter_class=argparse.RawDescriptionHelpFormatter, parents=[more] if more else []
    )
    parser.add_argument(
        "--out", default="-", help="file that the raw lines are added to; - for standard output"
    )
    parser.add_argument("--seeds", type=int, help=f"trials of each system ({seeds}; with --quick {quick})")
    parser.add_argument(
        "--quick", action="store_true", help="few and short trials: does it run, not how fast"
    )
    parser.add_argument("--systems", help="only these, with | between")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ended, not cut off: no training is left behind
    given.seeds = given.seeds or (quick if given.quick else seeds)
    return given


def interleaved(systems: Sequence[T], seeds: int) -> Iterator[tuple[int, T]]:
    """Every system once for each seed, each time another one first: what disturbs the machine disturbs all."""
    for seed in range(1, seeds + 1):
        turn = seed % len(systems)
        for system in (*systems[turn:], *systems[:turn]):
            yield seed, system


def spread(values: Sequence[float]) -> Spread | None:
    """Median, least and most; None of nothing."""
    if not values:
        return None
    return Spread(statistics.median(values), min(values), max(values), len(values))


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; none where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def say(text: str) -> None:
    """Talk goes beside the data."""
    print(text, file=sys.stderr, flush=True)
