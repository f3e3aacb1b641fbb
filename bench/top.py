"""Time to first paint of `wright top` with 1,000 nodes and 5,000 jobs: `python -m bench.top [NODES JOBS]`.

The command runs as for a user, with a cluster file of that size. A program in place of ssh prints recorded output of
the control host (tests/monitor/recorded.py), so the time is that of start-up, the cluster file, parsing and painting.
The screen is a pseudo-terminal; the time ends when the last job that fits is on it.
"""

from __future__ import annotations

import importlib.util
import os
import pty
import resource
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

ROOT = Path(__file__).parents[1]
WRIGHT = Path(sys.executable).with_name("wright")
REPEATS = 5
GOAL_S = 1.0
LINES, COLUMNS = 50, 160

CLUSTER = """
name: recorded
networks:
  management: {{subnet: 10.0.0.0/16, rate: 1Gbit/s}}
nodes:
  control:
    role: control
    hosts: control
    addresses: {{management: 10.0.255.1}}
    cpus: {{cores_per_socket: 8}}
    memory: 64GiB
  h100:
    role: compute
    hosts: h100-[0001-{h100:04}]
    addresses: {{management: 10.0.0.1}}
    cpus: {{sockets: 2, cores_per_socket: 48, threads_per_core: 2}}
    memory: 2000GiB
    gpus: {{model: h100, count: 8, memory: 80GiB}}
    switch: leaf1
  a100:
    role: compute
    hosts: a100-[{a100:04}-{last:04}]
    addresses: {{management: 10.0.64.1}}
    cpus: {{sockets: 2, cores_per_socket: 48, threads_per_core: 2}}
    memory: 2000GiB
    gpus: {{model: a100, count: 8, memory: 80GiB}}
    switch: leaf2
storage:
  shared: {{kind: local, path: /shared}}
partitions:
  train: {{nodes: [h100], default: true}}
  quick: {{nodes: [a100]}}
"""


def main() -> int:
    """Measure three ways to show the cluster, several times each."""
    nodes, jobs = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (1000, 5000)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        environ = prepared(folder, nodes, jobs)
        print(f"{nodes} nodes, {jobs} jobs, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
        show("--batch", [timed(environ, "--batch") for _ in range(REPEATS)])
        show("--json", [timed(environ, "--json") for _ in range(REPEATS)])
        worst = show("screen", [painted(environ) for _ in range(REPEATS)])
    print(f"goal: first paint under {GOAL_S} s; {'met' if worst < GOAL_S else 'MISSED'}")
    return 0


def prepared(folder: Path, nodes: int, jobs: int) -> dict[str, str]:
    """Write the cluster file, the control host's output, and an ssh that prints it; return the environment."""
    spec = importlib.util.spec_from_file_location("recorded", ROOT / "tests" / "monitor" / "recorded.py")
    recorded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recorded)
    (folder / "said.json").write_text(recorded.as_json(recorded.recorded(nodes, jobs)))
    first = round(nodes * 0.8)
    (folder / "cluster.yaml").write_text(CLUSTER.format(h100=first, a100=first + 1, last=nodes))
    ssh = folder / "ssh"
    ssh.write_text(f"#!/bin/sh\ncat >/dev/null\nexec cat {folder}/said.json\n")
    ssh.chmod(0o755)
    return {
        **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "CLUSTERWRIGHT_CLUSTER": str(folder / "cluster.yaml"), "PYTHONDONTWRITEBYTECODE": "",
    }  # fmt: skip


def timed(environ: dict[str, str], how: str) -> tuple[float, float]:
    """Return wall and CPU seconds of the whole command."""
    before, started = used(), time.monotonic()
    subprocess.run([WRIGHT, "top", how], env=environ, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - started, used() - before


def painted(environ: dict[str, str]) -> tuple[float, float]:
    """Return wall and CPU seconds until a job is on the screen; both are equal on an idle machine."""
    started = time.monotonic()
    child, screen = pty.fork()
    if child == 0:
        os.execve(WRIGHT, [str(WRIGHT), "top"], environ)
    ioctl(screen, TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    seen, at, cpu = b"", 0.0, 0.0
    while not at:
        if time.monotonic() - started > 60:
            os.kill(child, signal.SIGKILL)
            raise TimeoutError(seen[-2000:].decode(errors="replace"))
        if select.select([screen], [], [], 1)[0]:
            seen += os.read(screen, 65536)
        if b"RUNNING" in seen:
            at, cpu = time.monotonic() - started, spent_by(child)
    os.write(screen, b"q")
    while True:
        try:
            if not os.read(screen, 65536):
                break
        except OSError:  # the command has exited
            break
    os.waitpid(child, 0)
    os.close(screen)
    return at, cpu


def spent_by(process: int) -> float:
    """Return CPU seconds of a process and its waited-for children (proc(5): fields 14 to 17 of stat)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(int(each) for each in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def used() -> float:
    """Return CPU seconds of all children so far."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def show(name: str, runs: list[tuple[float, float]]) -> float:
    """Print median and spread of the runs; return the median wall time."""
    wall, cpu = sorted(each[0] for each in runs), sorted(each[1] for each in runs)
    print(
        f"{name:8} wall {statistics.median(wall):.2f} s ({wall[0]:.2f} to {wall[-1]:.2f}), "
        f"CPU {statistics.median(cpu):.2f} s ({cpu[0]:.2f} to {cpu[-1]:.2f})"
    )
    return statistics.median(wall)


if __name__ == "__main__":
    raise SystemExit(main())
