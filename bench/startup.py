"""Median CPU seconds of `wright --help` and `wright validate`; goal: at most 0.25.

    python -m bench.startup [RUNS]

The ratio to an empty interpreter (`python -c pass`) is printed, too: it depends less on the machine.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WRIGHT = Path(sys.executable).with_name("wright")
GOAL_CPU_S = 0.25
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "wright --help": [WRIGHT, "--help"],
    "wright validate": [WRIGHT, "validate", ROOT / "examples/lab/cluster.yaml"],
}


def cpu_seconds(argv: list[str | Path]) -> float:
    """Return user and system seconds of one run, by the kernel's accounting."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = os.times()
    subprocess.run(argv, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Warm up once, then run the commands alternately and print medians."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    seen: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(runs + 1):
        for name, argv in COMMANDS.items():
            seconds = cpu_seconds(argv)
            if turn:
                seen[name].append(seconds)
    empty = statistics.median(seen["python -c pass"])
    print(f"{'command':<18}{'median':>8}{'min':>8}{'max':>8}{'ratio':>8}")
    for name, values in seen.items():
        median = statistics.median(values)
        print(f"{name:<18}{median:8.3f}{min(values):8.3f}{max(values):8.3f}{median / empty:8.1f}")
    slowest = max(statistics.median(seen[name]) for name in list(COMMANDS)[1:])
    word = "met" if slowest <= GOAL_CPU_S else "MISSED"
    print(f"goal: {GOAL_CPU_S} CPU s or less; slowest median {slowest:.3f}: {word}")


if __name__ == "__main__":
    main()
