"""Gain by `wright tune` on a lab: all-reduce bus bandwidth, and steps per second of a training over a slow link.

    python -m bench.tune [--budget 60] [--hosts 4] [--rate 10Mbit/s]        (root; an hour, three searches of 60 trials)

Links have 200 Mbit/s for all-reduce, --rate for the training (two hosts, Gloo), whose gradients are 0.25 MB.
The training is tuned twice: with settings that do not change its results, and with 16-bit gradients allowed.
Goals: 1.2 times the original, and a bus bandwidth of 90 % of the shaped line rate (headers included).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.lib.lab import Document, bench_lab
from clusterwright import lab

NAME, DIVISOR = "bench-tune", 500
LINE = 200e6 / 8
GAIN, SHARE = 1.2, 0.9
# One thread: on busy CPUs, waits between threads would dominate the measurement.
JOB = """\
name: tuned
recipe: gpt
arguments: {steps: 100000, batch: 4, microbatch: 2, width: 64, layers: 2, context: 32, evaluate_every: 100000}
nodes: 2
gpus_per_node: 1
time: 2h
user: alice
environment: {variables: {OMP_NUM_THREADS: "1"}}
"""


def main() -> None:
    """Run three searches on one lab and print a line for each."""
    given = options()
    with bench_lab(NAME, "10.216", given.hosts, slower) as place:
        (place.file.parent / "job.yaml").write_text(JOB)
        measure(place.file.parent, given)


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=int, default=60, help="trials per search")
    parser.add_argument(
        "--hosts", type=int, default=4, help="hosts of the lab and its all-reduce, at least 2"
    )
    parser.add_argument("--rate", default="10Mbit/s", help="link rate for the training")
    return parser.parse_args()


def slower(document: Document) -> None:
    """Lower the lab's link rates to what this machine can saturate."""
    document["lab"]["rate_divisor"] = DIVISOR


def measure(place: Path, given: argparse.Namespace) -> None:
    """Run the three searches."""
    print(f"{given.budget} trials each, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f}", flush=True)
    print_results(
        f"all-reduce on {given.hosts} hosts, MB/s of bus",
        tuned(place, given, "network", "cluster.yaml"),
        1e-6,
    )
    for host in ("gpu-node1", "gpu-node2"):
        lab.fault(NAME, "slow-link", host, network="compute", rate=given.rate)
    of_job = ("training", "job.yaml", "--hosts", "gpu-node[1-2]")
    print_results("training, steps per second", tuned(place, given, *of_job), 1)
    print_results("training, 16 bits allowed", tuned(place, given, *of_job, "--allow-numbers"), 1)


def tuned(place: Path, given: argparse.Namespace, *asked: str) -> dict[str, Any]:
    """Run one search with these options and return its result; its progress goes to stderr."""
    command = [sys.executable, "-c", "from clusterwright.cli import main; main()", "tune", *asked]
    done = subprocess.run(
        [*command, "--budget", str(given.budget), "--json"], cwd=place, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def print_results(what: str, found: dict[str, Any], factor: float) -> None:
    """Print before and after with spread, the gain, and whether the goals are met."""
    trials = [each for each in found["outcome"]["trials"] if each["value"]]
    plain = [each["value"] * factor for each in trials if not each["settings"]["pairs"]]
    best = [value * factor for value in found["outcome"]["tuned"]] if found["winner"] else []
    print(
        f"{what}: {spread(plain)}"
        + (f", with {found['winner']} {spread(best)}" if best else ", nothing better")
    )
    gain = found["gain"] if best else 1.0
    print(f"  {gain:.2f} times, goal {GAIN}: {'met' if gain >= GAIN else 'MISSED'}", flush=True)
    if found["line"]:
        share = statistics.median(best or plain) / factor / LINE
        print(
            f"  {share:.0%} of the line, goal {SHARE:.0%}: {'met' if share >= SHARE else 'MISSED'}",
            flush=True,
        )


def spread(values: list[float]) -> str:
    """Format median, minimum and maximum."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}, {len(values)} times)"


if __name__ == "__main__":
    main()
