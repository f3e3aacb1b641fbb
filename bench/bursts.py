"""Repeated bursts with power saving: a job on eight hosts of which two are up; its start, and hosts stuck afterwards.

    python -m bench.bursts [BURSTS]

Needs root. Creates a lab `bench-bursts` of eight compute hosts that Slurm powers up and down. Goals: a start within
20 s of submission (boot, join, check, run), six hosts powered down within their idle time, no host stuck after 50.
"""

from __future__ import annotations

import statistics
import sys
import time

from bench.lib.lab import BenchLab, Document, bench_lab
from clusterwright import lab

NAME = "bench-bursts"
IDLE_S, OFF_S, STUCK_S = 5, 5, 240
SAVING = {
    "idle": f"{IDLE_S}s", "suspend_timeout": f"{OFF_S}s", "resume_timeout": "90s", "provider": {"kind": "lab"},
    "spares": 2, "retry_after": "5s",
}  # fmt: skip
# The job creates a file when it runs on all its hosts, then ends.
BURST = """
cd /tmp && rm -f /shared/burst
began=$(date +%s%N)
sbatch -N8 -o /dev/null --wrap 'srun true && touch /shared/burst' >/dev/null || exit 1
until [ -e /shared/burst ]; do sleep 0.1; done
echo $(($(date +%s%N) - began))
"""


def main() -> None:
    """Run the bursts and print the results."""
    bursts = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with bench_lab(NAME, "10.226", 8, spares) as place:
        rows = [one(place, number) for number in range(1, bursts + 1)]
        until_off(place)
        reasons = set(place.run("control", "sinfo -h -N -o %E").split("\n")) - {"", "none"}
    starts, gone = [start for start, _ in rows], [seconds for _, seconds in rows]
    late = sum(start > 20 for start in starts)
    sys.stdout.write(
        f"{bursts} bursts over 8 hosts, 2 up: started after {statistics.median(starts):.1f} s (median),"
        f" {min(starts):.1f} to {max(starts):.1f} s, {late} after more than 20 s\n"
        f"6 hosts powered down {statistics.median(gone):.1f} s (median), at most {max(gone):.1f} s after the job's end;"
        f" their idle time is {IDLE_S} s\nhosts with a reason afterwards: {', '.join(reasons) or 'none'}\n"
    )


def spares(document: Document) -> None:
    """Enable power saving with two spare hosts that stay powered up."""
    document["accounting"] = {"enabled": False}
    document["slurm"]["power_saving"] = SAVING


def one(place: BenchLab, number: int) -> tuple[float, float]:
    """Run a burst; return the seconds until the job's start, and from its end until six hosts are powered down."""
    until_off(place)
    start = int(place.run("control", BURST)) / 1e9
    began = time.monotonic()
    if sum(row.state == "down" for row in lab.status(NAME)) >= 6:
        sys.exit("six hosts are powered down while a job on all hosts runs")
    while sum(row.state == "down" for row in lab.status(NAME)) < 6:
        stuck(place, began)
        time.sleep(0.2)
    gone = time.monotonic() - began
    sys.stdout.write(
        f"burst {number}: started after {start:.1f} s, hosts powered down {gone:.1f} s after its end\n"
    )
    sys.stdout.flush()
    return start, gone


def until_off(place: BenchLab) -> None:
    """Wait until Slurm reports six hosts as powered down, so that a job may request them."""
    began = time.monotonic()
    while place.run("control", "sinfo -h -N -o %T").split().count("idle~") != 6:
        stuck(place, began)
        time.sleep(0.2)


def stuck(place: BenchLab, began: float) -> None:
    """Exit with the state of every host if the timeout since `began` has passed."""
    if time.monotonic() - began > STUCK_S:
        sys.exit("stuck:\n" + place.run("control", "sinfo -N; squeue; tail -40 /var/log/slurm/power.log"))


if __name__ == "__main__":
    main()
