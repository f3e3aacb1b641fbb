"""Runs all experiments, then writes the page: `python -m bench.resilience.all [--quick|--full] [--only kill]`.

With --full each script runs all trials of its own default, which takes more than an hour.
A script's lines replace those of its last run if it succeeded. With --quick or --keep, stored lines do not change: the
lines go to build/resilience. Experiments that need root or a lab are skipped without it, with a line that says so.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from bench.resilience.lines import HERE, RAW, say

QUIET = 1.0  # load average to wait for before a measurement, up to a time limit
QUIET_LIMIT_S = 30
LIMIT_S = 1800
# Arguments of each script unless --full. Those that need an idle machine most come first.
SCRIPTS = {
    "overhead": ("--seeds", "6"), "kill": ("--seeds", "10"), "storm": (), "hang": ("--seeds", "1"),
    "checkpoint": ("--seeds", "3"), "copies": ("--seeds", "1"), "integrity": ("--seeds", "100"), "bitwise": (),
    "ledger": ("--seeds", "1"), "leftovers": ("--seeds", "1"), "leftovers_lab": ("--seeds", "1"),
    "hosts": ("--seeds", "1"),
}  # fmt: skip


def main() -> int:
    """Run the scripts; return 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few and short trials; do not write the page")
    parser.add_argument("--full", action="store_true", help="all trials of each script's default")
    parser.add_argument("--keep", action="store_true", help="do not change the stored lines and the page")
    parser.add_argument("--only", help="scripts, separated by commas")
    given = parser.parse_args()
    folder = HERE.parents[1] / "build/resilience"
    folder.mkdir(parents=True, exist_ok=True)
    failed = [
        name for name in (given.only.split(",") if given.only else SCRIPTS)
        if not _run(name, folder, _extra(name, given), keep=given.quick or given.keep)
    ]  # fmt: skip
    if not (given.quick or given.keep):
        subprocess.run([sys.executable, "-m", "bench.resilience.page"], check=True)
    say(f"failed: {', '.join(failed)}" if failed else "all ran")
    return bool(failed)


def _extra(name: str, given: argparse.Namespace) -> tuple[str, ...]:
    return ("--quick",) if given.quick else () if given.full else SCRIPTS[name]


def _run(name: str, folder: Path, extra: tuple[str, ...], *, keep: bool) -> bool:
    """Run a script and store its lines if it succeeded."""
    out = folder / f"{name}.jsonl"
    out.unlink(missing_ok=True)
    if "--quick" not in extra:
        _wait_for_quiet()
    begun = time.monotonic()
    argv = [sys.executable, "-m", f"bench.resilience.{name}", "--out", out, *extra]
    try:
        good = subprocess.run(argv, check=False, timeout=LIMIT_S).returncode == 0
    except subprocess.TimeoutExpired:
        good = False
    say(f"== {name}: {'ran' if good else 'FAILED'}, {time.monotonic() - begun:.0f} s")
    if good and not keep and out.exists():
        RAW.mkdir(exist_ok=True)
        (RAW / out.name).write_bytes(out.read_bytes())
    return good


def _wait_for_quiet() -> None:
    end = time.monotonic() + QUIET_LIMIT_S
    while os.getloadavg()[0] > QUIET and time.monotonic() < end:
        time.sleep(2)


if __name__ == "__main__":
    sys.exit(main())
