"""Median seconds of `wright lab up` (with an existing image), `down` and one SSH call; goal: up of 5 hosts below 10 s.

    python -m bench.lab [ROUNDS]

Needs root. Creates a lab `bench` with the hosts of examples/lab in its own subnets.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.lib.lab import require_lab, write_cluster
from clusterwright import lab
from clusterwright.config.cluster import Cluster
from clusterwright.config.site import Lab


def main() -> None:
    """Measure and print the medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    require_lab()
    with tempfile.TemporaryDirectory() as folder:
        cluster = write_cluster(Path(folder) / "cluster.yaml", "bench", "10.99", 4)
    rows = [measure(cluster) for _ in range(rounds)]
    print(
        f"{rounds} rounds, {len(cluster.hosts())} hosts, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )
    for name in rows[0]:
        values = [row[name] for row in rows]
        print(f"{name:<12} {statistics.median(values):6.2f} s  ({min(values):.2f} to {max(values):.2f})")


def measure(cluster: Cluster) -> dict[str, float]:
    """Measure one lab: up, two SSH calls, down."""
    found = {"up": seconds(lambda: lab.up(cluster))}
    try:
        ssh = ["ssh", "-F", f"{Lab.folder(cluster.name)}/ssh_config"]
        alone = [*ssh, "-o", "ControlPath=none", "gpu-node1", "true"]
        found["ssh, alone"] = seconds(lambda: subprocess.run(alone, check=True))
        found["ssh, shared"] = seconds(lambda: subprocess.run([*ssh, "gpu-node1", "true"], check=True))
    finally:
        found["down"] = seconds(lambda: lab.down(cluster.name))
    return found


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    started = time.monotonic()
    work()
    return time.monotonic() - started


if __name__ == "__main__":
    main()
