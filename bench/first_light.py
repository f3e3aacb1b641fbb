"""Medians over several demos: seconds of lab up, apply, second apply, check and recovery.

    python -m bench.first_light [RUNS]        (root, Debian 12 or Ubuntu; about five minutes a run)

The figures are from the demo's report.json; the goals are those of decision 0001.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WRIGHT = Path(sys.executable).with_name("wright")
GOALS_S = {"lab_up": 10, "apply": 30, "second_apply": 5, "recovery": 45, "total": 360}


def demo(folder: Path) -> dict[str, object]:
    """Run a demo and return its report."""
    subprocess.run([WRIGHT, "demo", "--out", folder], check=True, stderr=subprocess.DEVNULL, timeout=900)
    return json.loads((folder / "report.json").read_text())


def main() -> None:
    """Run the demos and print medians, also of the phases of recovery."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as scratch:
        reports = [demo(Path(scratch) / str(run)) for run in range(runs)]
    print(f"{runs} runs, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    print(f"{'seconds of':<22}{'median':>8}{'min':>8}{'max':>8}  goal")
    for name in reports[0]["seconds"]:
        row(name, [report["seconds"][name] for report in reports], GOALS_S.get(name))
    print("of which recovery")
    for place, part in enumerate(reports[0]["recovery"]["parts"]):
        row(f"  {part['name']}", [report["recovery"]["parts"][place]["seconds"] for report in reports], None)
    repeated = [report["steps_repeated"] for report in reports]
    print(f"steps repeated: {repeated}, a checkpoint every {reports[0]['checkpoint_every']}")
    print(f"losses equal bit for bit: {[report['losses_equal_bitwise'] for report in reports]}")


def row(name: str, values: list[float | None], goal: float | None) -> None:
    """Print one line; skip a figure that does not apply."""
    seen = [value for value in values if value is not None]
    if seen:
        median = statistics.median(seen)
        verdict = "" if goal is None else f"  {goal} {'met' if median <= goal else 'MISSED'}"
        print(f"{name:<22}{median:8.2f}{min(seen):8.2f}{max(seen):8.2f}{verdict}")


if __name__ == "__main__":
    main()
