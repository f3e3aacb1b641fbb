"""Resources of the exporter on a host, and overhead of step events on a training.

    python -m bench.exporter [--seconds 120] [--jobs 4] [--gpus 8] [--steps 4000]

The host is simulated by files: GPUs by the lab's NVML library, jobs in control groups like Slurm's, each with processes
of this machine. The exporter runs as under systemd and is scraped over TLS every 15 s. CPU time includes all its
processes and exited children; memory is PSS.
Goals: 1 % of a core, 40 MB, 50 ms per scrape; steps of a training at most 0.5 % slower, measured by turns with and
without step events in one process at 20 ms per step, and in two ranks of DistributedDataParallel whose communication
is measured, too (`--seconds 0`: only these). loop_cost.py measures the whole loop.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.config.load import load_cluster
from clusterwright.edge.certificates import certificates
from clusterwright.edge.clock import SystemClock
from clusterwright.lab.gpus import library, state
from clusterwright.lab.gpus.simulated import simulated

ROOT = Path(__file__).parents[1]
EVERY_S = 15.0
CPU_GOAL, MEMORY_GOAL, SCRAPE_GOAL_S, SLOWED_GOAL = 0.01, 40e6, 0.05, 1.005
STEP_S = 0.02
TURN = 25  # steps: half a second, within which the load of a busy machine hardly changes


def main() -> None:
    """Print a line for each goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--steps", type=int, default=4000)
    given = parser.parse_args()
    print(
        f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}", flush=True
    )
    if given.seconds:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), given.seconds, given.jobs, given.gpus)
    if given.steps:
        with tempfile.TemporaryDirectory() as folder:
            slowed(Path(folder), given.steps)
        with tempfile.TemporaryDirectory() as folder:
            slowed_ranks(Path(folder), given.steps)
    print(f"load {os.getloadavg()[0]:.1f}")


def measure(folder: Path, seconds: float, jobs: int, gpus: int) -> None:
    """Run the exporter for `seconds` and print its CPU time, memory and scrape time."""
    environ, workers = host(folder, jobs, gpus)
    port = free_port()
    told = {
        "node": "bench", "port": port, "gpus": gpus, "slurmd": True, "paths": ["/", "/tmp"],
        **{name: str(folder / name) for name in ("run", "state", "tls", "cgroup", "hooks")},
        "kmsg": "/dev/kmsg",
    }  # fmt: skip
    (folder / "settings.json").write_text(json.dumps(told))
    argv = [
        sys.executable,
        "-m",
        "clusterwright.onhost.exporter",
        "--settings",
        str(folder / "settings.json"),
    ]
    process = subprocess.Popen(argv, env=environ)
    try:
        time.sleep(20)  # exclude start-up
        cpu_s, began = used(process.pid), time.monotonic()
        scrapes, most, size = [], 0, 0
        while time.monotonic() - began < seconds:
            took, size = scrape(port, folder)
            scrapes.append(took)
            until = time.monotonic() + EVERY_S
            while time.monotonic() < until:
                most = max(most, memory(process.pid))
                time.sleep(0.5)
        share = (used(process.pid) - cpu_s) / (time.monotonic() - began)
    finally:
        process.terminate()
        process.wait()
        for each in workers:
            each.kill()
            each.wait()
    print_goal("processor", f"{share:.3%} of a core", share, CPU_GOAL)
    print_goal("memory", f"{most / 1e6:.1f} MB at most", most, MEMORY_GOAL)
    words = (
        f"median {statistics.median(scrapes) * 1e3:.1f} ms, longest {max(scrapes) * 1e3:.1f} ms, {size} bytes"
    )
    print_goal("scrape over TLS", words, statistics.median(scrapes), SCRAPE_GOAL_S)


def host(folder: Path, jobs: int, gpus: int) -> tuple[dict[str, str], list[subprocess.Popen[bytes]]]:
    """Create the simulated host: GPUs, certificates, and jobs with processes; return its environment and processes."""
    for name in ("run", "state", "tls", "hooks/jobs", "gpus", "library", "authority"):
        (folder / name).mkdir(parents=True)
    assert library.build(folder / "library") == ""
    cluster = load_cluster(ROOT / "examples" / "lab" / "cluster.yaml")
    alike = cluster.nodes["a100"].gpus
    assert alike
    made = simulated(cluster, alike.model_copy(update={"count": gpus}), "0123456789abcdef" * 2)
    assert made
    state.install(made, folder / "library" / library.SONAME, folder / "gpus", folder / "root")
    for name, data in certificates(folder / "authority", {"host": "IP:127.0.0.1"}, SystemClock()).items():
        (folder / name).write_bytes(data)
    workers = []
    for job in range(1, jobs + 1):
        environ = {
            **os.environ,
            "SLURM_JOB_ID": str(job),
            "SLURM_JOB_ACCOUNT": "a",
            "SLURM_JOB_GPUS": str(job),
        }
        own = [subprocess.Popen(["sleep", "100000"], env=environ) for _ in range(8)]
        workers += own
        group(folder / "cgroup/system.slice/slurmstepd.scope" / f"job_{job}", [each.pid for each in own])
        (folder / "hooks/jobs" / f"{job}.held").write_text(f"{2 * job - 2},{2 * job - 1}\n")
    environ = {
        **os.environ, "CLUSTERWRIGHT_LAB_GPUS": str(folder / "gpus" / state.STATE),
        "LD_LIBRARY_PATH": str(folder / "library"), "PYTHONPATH": str(ROOT / "src"),
    }  # fmt: skip
    return environ, workers


def group(path: Path, pids: list[int]) -> None:
    """Create the cgroups (version 2) of a job with two steps."""
    rows = {
        "cpu.stat": "usage_usec 5000000\n", "memory.current": "3000000000\n", "memory.max": "max\n",
        "memory.stat": "anon 1\ninactive_file 1000\n", "memory.events": "oom_kill 0\n",
        "cpuset.cpus.effective": "0-15\n", "step_0/user/task_0/cgroup.procs": "\n".join(map(str, pids)) + "\n",
        "step_batch/user/task_0/cgroup.procs": "",
    }  # fmt: skip
    for name, text in rows.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)


def scrape(port: int, folder: Path) -> tuple[float, int]:
    """Scrape over a new TLS connection as Prometheus does; return seconds and bytes."""
    context = ssl.create_default_context(cafile=folder / "tls/ca.crt")
    context.load_cert_chain(folder / "tls/host.crt", folder / "tls/host.key")
    began = time.monotonic()
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as talks,
    ):
        talks.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        said = b"".join(iter(lambda: talks.recv(1 << 16), b""))
    assert b"clusterwright_gpu_job_info" in said, said[:500]
    return time.monotonic() - began, len(said)


def family(pid: int) -> list[int]:
    """Return the pids of a process and all its descendants."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(each for child in below for each in family(int(child)))]


def used(pid: int) -> float:
    """Return CPU seconds of a process, its descendants and exited children (proc(5): stat, fields 14 to 17)."""
    ticks = 0
    for each in family(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> int:
    """Return the PSS bytes of a process and its descendants: shared memory counts once."""
    total = 0
    for each in family(pid):
        try:
            rows = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:"))
    return total


@dataclass
class Training:
    """A training with steps of STEP_S seconds, each of several passes; `clock` is a CPU clock."""

    model: Any
    batch: Any
    environ: dict[str, str]
    clock: Callable[[], float] = time.process_time
    repeat: int = 1

    def __post_init__(self) -> None:
        import torch

        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)

    def long_enough(self) -> int:
        """Return the number of passes that make a step of STEP_S."""
        return max(1, round(STEP_S / self.turn(20)))

    def turn(self, steps: int = TURN) -> float:
        """Run some steps; return their median seconds."""
        found = []
        for _ in range(steps):
            began = self.clock()
            for _ in range(self.repeat):
                self.model(self.batch).sum().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            found.append(self.clock() - began)
        return statistics.median(found)

    def pairs(self, steps: int) -> list[tuple[float, float]]:
        """Return step seconds without and with step events, turn by turn."""
        found = []
        for _ in range(steps // (2 * TURN)):
            bare_s = self.turn()
            told = self.watched()
            found.append((bare_s, self.turn()))
            told.close()
        return found

    def watched(self) -> Any:
        """Return the runtime's writer of step events, as the import of runtime.watched creates it."""
        from clusterwright.runtime import watched

        told = watched.watch(self.environ)
        assert told
        return told


def slowed(folder: Path, steps: int) -> None:
    """Measure the slowdown by step events in one process."""
    import torch

    torch.set_num_threads(1)
    layers = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))
    environ = {"CLUSTERWRIGHT_RUN": str(folder), "WORLD_SIZE": "1"}
    training = Training(layers, torch.ones(64, 512), environ)
    training.repeat = training.long_enough()
    print_ratios("a step with events", training.pairs(steps))
    print_share("step event alone", step_event_seconds(training.watched(), training.optimizer))
    print_share("measuring a pass alone", communication_hook_seconds())


def slowed_ranks(folder: Path, steps: int) -> None:
    """Measure the slowdown of rank 0 of two processes, by the CPU time of its training thread."""
    from torch import multiprocessing

    multiprocessing.spawn(rank, (str(folder), free_port(), steps), nprocs=2)  # type: ignore[no-untyped-call,attr-defined] # (torch's own)
    print_ratios("a step of 2 ranks with events", json.loads((folder / "turns.json").read_text()))


def rank(number: int, folder: str, port: int, steps: int) -> None:
    """Run one rank, with a model of many weights."""
    import torch

    environ = {
        "RANK": str(number), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo", "CLUSTERWRIGHT_RUN": folder,
    }  # fmt: skip
    os.environ.update(environ)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    layers = torch.nn.Sequential(*(torch.nn.Linear(128, 128) for _ in range(40)))
    parallel = torch.nn.parallel.DistributedDataParallel(layers)
    training = Training(parallel, torch.ones(256, 128), environ, time.thread_time)
    repeat = torch.tensor(training.long_enough())
    torch.distributed.broadcast(repeat, 0)
    training.repeat = int(repeat)
    pairs = training.pairs(steps)
    if number == 0:
        (Path(folder) / "turns.json").write_text(json.dumps(pairs))
    torch.distributed.destroy_process_group()


def communication_hook_seconds(passes: int = 20_000) -> float:
    """Return the CPU seconds that the hooks of communication measurement add to a backward pass."""
    import torch

    from clusterwright.runtime.backward import Backward
    from clusterwright.runtime.exposed import Processor

    training, clock, found = (
        Training(torch.nn.Linear(2, 2), torch.ones(1, 2), {}, time.thread_time),
        Processor(),
        [],
    )
    for _ in range(passes // (2 * TURN)):
        bare_s = training.turn()
        measured = Backward(training.model, clock.ready, clock.complete)
        training.turn(1)  # searches for the last gradient
        found.append(training.turn() - bare_s)
        measured.close()
    return statistics.median(found)


def step_event_seconds(told: Any, optimizer: Any, steps: int = 2000) -> float:
    """Return the CPU seconds of a step event, at the real step rate, so that the number of writes is realistic."""
    spent = 0.0
    for _ in range(steps):
        time.sleep(STEP_S / 4)
        began = time.process_time()
        told.stepped(optimizer, (), {})
        spent += time.process_time() - began
    return spent / steps


def print_ratios(what: str, pairs: list[tuple[float, float]]) -> None:
    """Print the median and quartiles of the ratios."""
    low, middle, high = statistics.quantiles((told_s / bare_s for bare_s, told_s in pairs), n=4)
    length = f"{statistics.median(bare_s for bare_s, _ in pairs) * 1e3:.0f} ms a step"
    words = f"{middle - 1:+.3%} (quartiles {low - 1:+.3%} to {high - 1:+.3%}) at {length}"
    print_goal(what, words, middle, SLOWED_GOAL)


def print_share(what: str, seconds: float) -> None:
    """Print a cost as a share of a nominal step, independent of other load."""
    words = f"{seconds * 1e6:.0f} us of CPU time, {seconds / STEP_S:.3%} of a step of {STEP_S * 1e3:.0f} ms"
    print_goal(what, words, 1 + seconds / STEP_S, SLOWED_GOAL)


def print_goal(what: str, words: str, value: float, goal: float) -> None:
    """Print a measured value, its goal, and whether the goal is met."""
    print(f"{what:<20} {words}; {'met' if value <= goal else 'MISSED'}", flush=True)


def free_port() -> int:
    """Return a port that is currently free."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    main()
