"""Overhead of a step in a container image: `srun --container` against `srun` on two hosts, alternately.

    python -m bench.containers [TURNS]

Needs root. Creates a lab `bench-env` of two compute hosts, and an image from their own files. Goal: a container job
starts within 1 s of a bare one.
"""

from __future__ import annotations

import statistics
import sys

from bench.lib.lab import Document, bench_lab

IMAGE = r"""set -e
mkdir -p /shared/image/rootfs && cd / && {
  printf '%s\n' bin sbin lib lib64; find usr/bin -maxdepth 1 -size -3000k
  find usr/lib/x86_64-linux-gnu -maxdepth 1 -name '*.so*' -size -6000k
} | tar -cf - --no-recursion -T - --recursion usr/lib64 | tar -C /shared/image/rootfs -xf -
cd /shared/image/rootfs && mkdir -p etc proc sys dev tmp var/tmp home shared opt/clusterwright
touch etc/passwd etc/group etc/hosts etc/resolv.conf
cd .. && crun spec --rootless
"""
TURN = """cd /shared && for step in 'srun -N2' 'srun -N2 --container=/shared/image'; do
  began=$(date +%s%N); runuser -u bob -- $step true 2>/dev/null || exit 1; echo $(($(date +%s%N) - began))
done"""


def main() -> None:
    """Measure and print the results."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with bench_lab("bench-env", "10.224", 2, oci) as place:
        place.run("gpu-node1", IMAGE)
        place.run("control", TURN)  # warm-up: the first run reads files from disk
        rows = [[int(word) / 1e9 for word in place.run("control", TURN).split()] for _ in range(turns)]
    show(rows)


def show(rows: list[list[float]]) -> None:
    """Print medians, extremes and the difference of each turn."""
    for name, times in zip(("bare", "in an image"), zip(*rows, strict=True), strict=True):
        sys.stdout.write(
            f"{name:12} {statistics.median(times):.2f} s (median), {min(times):.2f} to {max(times):.2f} s\n"
        )
    more = [inside - bare for bare, inside in rows]
    sys.stdout.write(
        f"overhead: {statistics.median(more):.2f} s (median of {len(rows)} turns), at most {max(more):.2f} s;"
        f" ratio of the medians {statistics.median(r[1] for r in rows) / statistics.median(r[0] for r in rows):.2f}\n"
    )


def oci(document: Document) -> None:
    """Enable Slurm's OCI containers in the cluster file."""
    document["environments"] = {"containers": ["oci"]}


if __name__ == "__main__":
    main()
