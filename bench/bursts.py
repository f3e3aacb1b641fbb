"""Bursts in a row: a job over eight hosts of which two are up, its start, and whether any host is stuck after it.

    python -m bench.bursts [BURSTS]

Needs root. Makes a lab `bench-bursts` of eight compute hosts that Slurm switches on and off. The goals are a start
within 20 s of submission (boot, join, check, run), the six gone within their idle time, and no host stuck after 50.
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
# The job says itself when it runs, on all of its hosts; then it ends.
BURST = """
cd /tmp && rm -f /shared/burst
began=$(date +%s%N)
sbatch -N8 -o /dev/null --wrap 'srun true && touch /shared/burst' >/dev/null || exit 1
until [ -e /shared/burst ]; do sleep 0.1; done
echo $(($(date +%s%N) - began))
"""


def main() -> None:
    """Measure and print."""
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
        f"the 6 were gone {statistics.median(gone):.1f} s (median), at most {max(gone):.1f} s after the job's end;"
        f" their idle time is {IDLE_S} s\nhosts with a reason afterwards: {', '.join(reasons) or 'none'}\n"
    )


def spares(document: Document) -> None:
    """Slurm switches the hosts, of which two stay on."""
    document["accounting"] = {"enabled": False}
    document["slurm"]["power_saving"] = SAVING


def one(place: BenchLab, number: int) -> tuple[float, float]:
    """Seconds to the start of a job over all hosts, and from its end until six are gone."""
    until_off(place)
    start = int(place.run("control", BURST)) / 1e9
    began = time.monotonic()
    if sum(row.state == "down" for row in lab.status(NAME)) >= 6:
        sys.exit("six hosts are off while a job over all of them runs")
    while sum(row.state == "down" for row in lab.status(NAME)) < 6:
        stuck(place, began)
        time.sleep(0.2)
    gone = time.monotonic() - began
    sys.stdout.write(f"burst {number}: started after {start:.1f} s, gone {gone:.1f} s after its end\n")
    sys.stdout.flush()
    return start, gone


def until_off(place: BenchLab) -> None:
    """Six hosts are off by Slurm's word too, so that a job may ask for them."""
    began = time.monotonic()
    while place.run("control", "sinfo -h -N -o %T").split().count("idle~") != 6:
        stuck(place, began)
        time.sleep(0.2)


def stuck(place: BenchLab, began: float) -> None:
    """Too long is a failure; says how every host is."""
    if time.monotonic() - began > STUCK_S:
        sys.exit("stuck:\n" + place.run("control", "sinfo -N; squeue; tail -40 /var/log/slurm/power.log"))


if __name__ == "__main__":
    main()
