"""Shared by all experiments: raw lines, options, order of trials, median and spread.

Uses only the standard library, so that scripts for any system can import it.
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
    """A median with minimum and maximum."""

    median: float
    least: float
    most: float
    count: int


class Lines:
    """Writer of raw lines to a file or standard output."""

    def __init__(self, experiment: str, out: str = "-") -> None:
        if experiment not in EXPERIMENTS:
            raise ValueError(f"{experiment}: unknown experiment; available: {', '.join(EXPERIMENTS)}")
        self._experiment = experiment
        self._out = out

    def write(self, system: str, **more: Any) -> dict[str, Any]:
        """Write a line for one trial at once; README.md documents `more`."""
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
    """Return the load average of the last minute; call it when a trial begins."""
    return round(os.getloadavg()[0], 2)


def versions(**more: str) -> dict[str, str]:
    """Return the versions for a line: Python, torch, Clusterwright, the machine, and `more`."""
    found = {"python": platform.python_version(), "cpus": str(os.cpu_count())}
    for name in ("torch", "clusterwright"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {**found, **more}


def _short(value: Any) -> Any:
    """Round times to milliseconds and figures to five digits."""
    if isinstance(value, float):
        return float(f"{value:.5g}") if abs(value) < 1e5 else round(value, 3)
    if isinstance(value, Mapping):
        return {key: _short(each) for key, each in value.items()}
    return [_short(each) for each in value] if isinstance(value, list | tuple) else value


def options(
    what: str, *, seeds: int = 10, quick: int = 2, more: argparse.ArgumentParser | None = None
) -> argparse.Namespace:
    """Parse `--out FILE`, `--seeds N`, `--quick`, `--systems 'A|B'` and `more`; `seeds` is set in the result."""
    parser = argparse.ArgumentParser(
        description=what, formatter_class=argparse.RawDescriptionHelpFormatter, parents=[more] if more else []
    )
    parser.add_argument("--out", default="-", help="append raw lines to this file; -: standard output")
    parser.add_argument("--seeds", type=int, help=f"trials of each system ({seeds}; with --quick {quick})")
    parser.add_argument("--quick", action="store_true", help="few and short trials, to test the script")
    parser.add_argument("--systems", help="only these, separated by |")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit in order, so that no training is left
    given.seeds = given.seeds or (quick if given.quick else seeds)
    return given


def interleaved(systems: Sequence[T], seeds: int) -> Iterator[tuple[int, T]]:
    """Yield (seed, system): each system once per seed, starting with another one, so that load disturbs all."""
    for seed in range(1, seeds + 1):
        turn = seed % len(systems)
        for system in (*systems[turn:], *systems[:turn]):
            yield seed, system


def spread(values: Sequence[float]) -> Spread | None:
    """Return median, minimum and maximum; None without values."""
    if not values:
        return None
    return Spread(statistics.median(values), min(values), max(values), len(values))


def read(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file; none if it does not exist."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def say(text: str) -> None:
    """Print a message to stderr, as stdout may have data."""
    print(text, file=sys.stderr, flush=True)
