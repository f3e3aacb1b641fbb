"""Overhead of the prolog on a job: `srun true` on a host with and one without it, alternately; goal: below 0.3 s.

    python -m bench.prolog [PAIRS]

Needs root. Creates a lab `bench-prolog` of two compute hosts, one of which has no prolog in slurm.conf; halfway the
two are swapped, so that differences between the hosts cancel out. Also measures the prolog program alone and
nvidia-smi, which is a Python program in a lab; on a host with a driver its real time counts.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterator

from bench.lib.lab import Document, bench_lab
from clusterwright.edge.ssh import Ssh

GOAL_S = 0.3
HOSTS = ("gpu-node1", "gpu-node2")
CONF = "/etc/slurm/slurm.conf"

# Each job starts on an idle host, so that cleanup of the previous one does not count.
JOBS = """
for number in $(seq {pairs}); do
  for host in {first} {second}; do
    until [ "$(sinfo -h -N -n $host -o %T)" = idle ]; do sleep 0.1; done
    began=$(date +%s%N)
    srun -w $host --gres=gpu:1 true || exit 1
    echo $host $(($(date +%s%N) - began))
  done
done
"""

# CPU time of the program, including nvidia-smi, depends less on the machine's load than wall time.
ALONE = """
import os, resource, subprocess, time
job = dict(os.environ, SLURM_JOB_ID="999999", SLURM_JOB_UID="6002", SLURM_JOB_GPUS="0")
commands = dict(prolog=["/etc/slurm/clusterwright/prolog"], smi=["nvidia-smi", "--query-gpu=index", "--format=csv"])
for number in range({times}):
    for name, argv in commands.items():
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, env=job, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(name, int((time.monotonic() - began) * 1e9))
        print(name + "-cpu", int((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9))
"""
NAMES = {
    "prolog": "the program alone", "prolog-cpu": "its CPU time", "smi": "nvidia-smi alone",
    "smi-cpu": "its CPU time",
}  # fmt: skip


def main() -> None:
    """Measure and print the results."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    with bench_lab("bench-prolog", "10.220", 2, without_accounting) as place:
        remote = place.remote
        found = list(jobs(remote, pairs))
        alone = timed(run(remote, HOSTS[0], "python3 -", ALONE.format(times=pairs)))
        run(remote, HOSTS[0], "rm -rf /run/clusterwright/jobs/999999*")
    report(found, alone)


def without_accounting(document: Document) -> None:
    """Remove accounting, which is not measured."""
    document["accounting"] = {"enabled": False}


def jobs(remote: Ssh, pairs: int) -> Iterator[tuple[float, float]]:
    """Yield the seconds of each pair: with and without the prolog."""
    for bare, other in (HOSTS, HOSTS[::-1]):
        run(remote, bare, f"sed -i 's/^Prolog=/#&/' {CONF} && systemctl restart slurmd")
        rows = timed(run(remote, "control", JOBS.format(pairs=(pairs + 1) // 2, first=other, second=bare)))
        run(remote, bare, f"sed -i 's/^#Prolog=/Prolog=/' {CONF} && systemctl restart slurmd")
        yield from zip(rows[other], rows[bare], strict=True)


def run(remote: Ssh, host: str, text: str, stdin: str = "") -> str:
    """Return the output of a shell command on a host; exit if it fails."""
    done = remote.run(host, text, stdin=stdin.encode(), timeout_s=600)
    if not done.ok:
        sys.exit(f"{host}: {done.last_lines(20)}")
    return done.out


def timed(text: str) -> dict[str, list[float]]:
    """Parse lines of name and nanoseconds into seconds by name."""
    found: dict[str, list[float]] = {}
    for line in text.splitlines():
        name, nanoseconds = line.split()
        found.setdefault(name, []).append(int(nanoseconds) / 1e9)
    return found


def report(pairs: list[tuple[float, float]], alone: dict[str, list[float]]) -> None:
    """Print median and quartiles of each measured time."""
    load = f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    print(f"{len(pairs)} pairs, {load}")
    line("job with the prolog", [pair[0] for pair in pairs])
    line("job without", [pair[1] for pair in pairs])
    adds = [pair[0] - pair[1] for pair in pairs]
    line("the prolog adds", adds)
    for name, values in alone.items():
        line(NAMES[name], values)
    print(f"goal {GOAL_S} s: {'met' if statistics.median(adds) < GOAL_S else 'MISSED'}")


def line(name: str, values: list[float]) -> None:
    """Print median and quartiles."""
    low, median, high = statistics.quantiles(values, n=4)
    print(f"{name:<22} {median:6.3f} s  (quartiles {low:.3f} and {high:.3f})")


if __name__ == "__main__":
    main()
