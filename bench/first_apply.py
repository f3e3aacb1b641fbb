"""Seconds of the first apply on 8 fresh lab hosts and of its steps; alternately with another checkout on request.

    python -m bench.first_apply [--rounds 3] [--hosts 8] [--against FOLDER] [--timings] [--json FILE]

Needs root. Every run is on a fresh lab whose image has the packages. Prints wall seconds and the CPU seconds of
operator and hosts together, which depend little on other load.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.apply_vs_peers import WRIGHT, Site, cpu_seconds
from clusterwright import lab

HERE = Path(__file__).parents[1]
SHOWN = 25


def main() -> None:
    """Measure the checkouts alternately."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--timings", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    checkouts = [HERE, *([asked.against] if asked.against else [])]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder) / "site", asked.hosts, "10.207")
        try:
            for turn in range(asked.rounds):
                for checkout in checkouts[:: -1 if turn % 2 else 1]:
                    rows.append(measured(site, checkout, timings=asked.timings and checkout == HERE))
        finally:
            lab.down(site.cluster.name)
    for checkout in checkouts:
        of = [row for row in rows if row["checkout"] == str(checkout)]
        for what in ("seconds", "cpu_s"):
            values = [row[what] for row in of]
            print(f"{checkout} median {what}: {statistics.median(values):.2f}   {values}")
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")


def measured(site: Site, checkout: Path, *, timings: bool) -> dict[str, Any]:
    """Apply a fresh lab with a checkout's program; return its times."""
    site.fresh()
    load, began, used = os.getloadavg()[0], time.monotonic(), cpu_seconds(site.cluster.name)
    done = subprocess.run(
        [WRIGHT, "apply", "--cluster", site.file, "--yes", "--json", *(["--timings"] if timings else [])],
        capture_output=True, text=True, env=environment(site, checkout), check=False,
    )  # fmt: skip
    seconds, used = time.monotonic() - began, cpu_seconds(site.cluster.name) - used
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    print(f"{checkout}: {seconds:.2f} s, CPU {used:.2f} s, load before {load:.1f}", flush=True)
    if timings:
        print_results(json.loads(done.stdout)["hosts"])
    return {"checkout": str(checkout), "seconds": round(seconds, 2), "cpu_s": round(used, 2), "load": load}


def environment(site: Site, checkout: Path) -> dict[str, str]:
    """Return the environment of a checkout's program, which compiles its modules in its first round, not in each."""
    compiled = {
        "PYTHONPATH": str(checkout / "src"),
        "PYTHONPYCACHEPREFIX": str(site.folder.parent / "compiled"),
    }
    return {**os.environ, **compiled, "PYTHONDONTWRITEBYTECODE": ""}


def print_results(hosts: list[dict[str, Any]]) -> None:
    """Print the slowest steps: seconds on the slowest host, and the median over all."""
    found: dict[str, list[float]] = {}
    for host in hosts:
        of: Counter[str] = Counter()
        for one in host["timings"]:
            of[f"{one['phase']}: {one['step']}"] += one["seconds"]
        for name, seconds in of.items():
            found.setdefault(name, []).append(seconds)
    longest = sorted(found.items(), key=lambda row: -max(row[1]))
    for name, values in longest[:SHOWN]:
        print(
            f"    {max(values):6.2f} s at most, {statistics.median(values):6.2f} median   {name} ({len(values)})"
        )


if __name__ == "__main__":
    main()
