"""Seconds of `wright check --on deploy` on a lab of eight compute hosts, and its slowest facts; goal: below 20.

    python -m bench.deploy [--hosts 8] [--rounds 5] [--json FILE]

Needs root. Creates a lab `bench-deploy` in its own subnets, applies the example's file and checks it repeatedly.
Prints the median of the rounds; the hosts' CPU seconds per round, which depend little on other load; and the facts
that took longest, timed on the hosts. Exit code 3 if the median misses the goal.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.lib.lab import bench_lab
from clusterwright.check.folding import counts
from clusterwright.check.reading import answer_of
from clusterwright.check.runner import run
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import Remote
from clusterwright.lab import cgroups

WRIGHT = Path(sys.executable).with_name("wright")
NAME, GOAL_S, SHOWN = "bench-deploy", 20.0, 10


@dataclass
class Timed:
    """A remote that records the seconds of each fact on its host, and of each SSH call."""

    inner: Remote
    facts: Counter[str] = field(default_factory=Counter)
    calls: list[float] = field(default_factory=list)

    @property
    def sudo(self) -> bool:
        """Whether the wrapped remote uses sudo."""
        return self.inner.sudo

    def run(self, host: str, command: str, **how: Any) -> CommandResult:
        """Run the command through the wrapped remote and record its times."""
        done = self.inner.run(host, command, **how)
        self.calls.append(done.seconds)
        for name, end in (answer_of(done.out) or {"facts": {}})["facts"].items():
            self.facts[name] += end["seconds"]
        return done


def main() -> int:
    """Measure and print; return 3 if the goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with bench_lab(NAME, "10.214", asked.hosts) as place:
        rows = [measured(place.file) for _ in range(asked.rounds)]
        timed = Timed(place.remote)
        verdicts = run(place.cluster, timed, on="deploy")
    median = statistics.median(row["seconds"] for row in rows)
    print_results(rows, timed, counts(verdicts), asked.hosts)
    if asked.json:
        asked.json.write_text(
            json.dumps({"median_s": median, "rounds": rows, "facts": timed.facts}, indent=1) + "\n"
        )
    return 0 if median < GOAL_S else 3


def measured(file: Path) -> dict[str, float]:
    """Run one check as a user does; return its wall and CPU seconds."""
    processor, began = processor_s(), time.monotonic()
    done = subprocess.run(
        [WRIGHT, "check", "--cluster", file, "--on", "deploy", "--json"], capture_output=True, check=False
    )
    seconds = time.monotonic() - began
    found = json.loads(done.stdout)["counts"]
    return {
        "seconds": round(seconds, 2), "processor_s": round(processor_s() - processor, 2),
        "load": round(os.getloadavg()[0], 1), **found,
    }  # fmt: skip


def processor_s() -> float:
    """Return the CPU seconds that all hosts of the lab have used."""
    for group in cgroups.groups(NAME):
        v1, v2 = group / "cpuacct.usage", group / "cpu.stat"
        if v1.exists():
            return int(v1.read_text()) / 1e9
        if v2.exists() and (found := re.match(r"usage_usec (\d+)", v2.read_text())):
            return int(found[1]) / 1e6
    return 0.0


def print_results(rows: list[dict[str, float]], timed: Timed, found: dict[str, int], hosts: int) -> None:
    """Print the median of the rounds, the verdicts and the slowest facts."""
    print(f"{len(rows)} rounds, {hosts + 1} hosts, {os.cpu_count()} CPUs; goal: below {GOAL_S:g} s")
    for name in ("seconds", "processor_s", "load"):
        values = [row[name] for row in rows]
        print(f"{name:<12} {statistics.median(values):7.2f}   ({min(values):.2f} to {max(values):.2f})")
    print(f"verdicts     {', '.join(f'{count} {status}' for status, count in found.items())}")
    print(
        f"{len(timed.calls)} SSH calls for {hosts + 1} hosts; the slowest facts, seconds on all hosts together:"
    )
    for name, seconds in timed.facts.most_common(SHOWN):
        print(f"  {name:<20} {seconds:7.2f}")


if __name__ == "__main__":
    sys.exit(main())
