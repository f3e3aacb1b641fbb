"""What `wright tune` gains on a lab: bus bandwidth of all-reduce, and the step of a training over a slow link.

    python -m bench.tune [--budget 60] [--hosts 4] [--rate 10Mbit/s]        (root; an hour, three searches of 60 trials)

Links of 200 Mbit/s for all-reduce, of --rate for the training (two hosts, Gloo), whose gradients are a quarter of a MB.
The training is searched twice: with what leaves its results alone, and with 16 bits for each gradient allowed.
Goals: 1.2 times what it was, and a bus of 90 % of the line as it is shaped (headers included).
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
# One thread: on a machine whose CPUs are busy, threads that wait for each other would be all that is measured.
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
    """Three searches on one lab, and a line for each."""
    given = options()
    with bench_lab(NAME, "10.216", given.hosts, slower) as place:
        (place.file.parent / "job.yaml").write_text(JOB)
        measure(place.file.parent, given)


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=int, default=60, help="trials of each search")
    parser.add_argument(
        "--hosts", type=int, default=4, help="of the lab, and of its all-reduce; two at least"
    )
    parser.add_argument("--rate", default="10Mbit/s", help="of the links of the training")
    return parser.parse_args()


def slower(document: Document) -> None:
    """Links that this machine can fill."""
    document["lab"]["rate_divisor"] = DIVISOR


def measure(place: Path, given: argparse.Namespace) -> None:
    """The three searches."""
    print(f"{given.budget} trials each, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f}", flush=True)
    tell(
        f"all-reduce on {given.hosts} hosts, MB/s of bus",
        tuned(place, given, "network", "cluster.yaml"),
        1e-6,
    )
    for host in ("gpu-node1", "gpu-node2"):
        lab.fault(NAME, "slow-link", host, network="compute", rate=given.rate)
    of_job = ("training", "job.yaml", "--hosts", "gpu-node[1-2]")
    tell("training, steps a second", tuned(place, given, *of_job), 1)
    tell("training, 16 bits allowed", tuned(place, given, *of_job, "--allow-numbers"), 1)


def tuned(place: Path, given: argparse.Namespace, *asked: str) -> dict[str, Any]:
    """What one search came to; what it tells on the way goes to our stderr."""
    command = [sys.executable, "-c", "from clusterwright.cli import main; main()", "tune", *asked]
    done = subprocess.run(
        [*command, "--budget", str(given.budget), "--json"], cwd=place, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def tell(what: str, found: dict[str, Any], factor: float) -> None:
    """Before and after with their spread, the gain, and whether the goals are met."""
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
    """Median, least and most."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}, {len(values)} times)"


if __name__ == "__main__":
    main()
