"""What the exporter takes of a host, and what a training's events take of its steps.

    python -m bench.exporter [--seconds 120] [--jobs 4] [--gpus 8] [--steps 4000]

A host as files: simulated GPUs by the lab's own NVML library, jobs in control groups as Slurm makes them, each with
processes of this machine. The exporter runs as systemd starts it and is scraped over TLS each 15 s. Processor time is
that of all its processes, children that have ended too; memory is what the kernel charges to them once (PSS).
Goals: 1 % of a core, 40 MB, 50 ms a scrape; and steps of a training slower by 0.5 % at most, measured in turns of one
process, with and without its steps told, at a step of 20 ms; and the same of two ranks in DistributedDataParallel,
whose communication is measured as well (`--seconds 0` for these alone). loop_cost.py has what our whole loop adds.
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
TURN = 25  # steps: half a second, as long as a busy machine is alike


def main() -> None:
    """A line for each goal."""
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
    """The exporter for so long."""
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
        time.sleep(20)  # what it takes to start is not what it takes
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
    say("processor", f"{share:.3%} of a core", share, CPU_GOAL)
    say("memory", f"{most / 1e6:.1f} MB at most", most, MEMORY_GOAL)
    words = (
        f"median {statistics.median(scrapes) * 1e3:.1f} ms, longest {max(scrapes) * 1e3:.1f} ms, {size} bytes"
    )
    say("scrape over TLS", words, statistics.median(scrapes), SCRAPE_GOAL_S)


def host(folder: Path, jobs: int, gpus: int) -> tuple[dict[str, str], list[subprocess.Popen[bytes]]]:
    """Its GPUs, certificates, and jobs of some processes each."""
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
    """A job's control groups, in version 2: two steps."""
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
    """As Prometheus does when it connects anew: handshake, request, answer; seconds and bytes."""
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
    """The process and all below it."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(each for child in below for each in family(int(child)))]


def used(pid: int) -> float:
    """Processor seconds of it, of those below it, and of those that have ended (proc(5): stat, 14 to 17)."""
    ticks = 0
    for each in family(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> int:
    """Bytes that all of them hold; what they share counts once."""
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
    """Steps of some length, each some passes; `clock` is of the processor, so that others do not count."""

    model: Any
    batch: Any
    environ: dict[str, str]
    clock: Callable[[], float] = time.process_time
    repeat: int = 1

    def __post_init__(self) -> None:
        import torch

        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)

    def long_enough(self) -> int:
        """How many passes make a step of STEP_S."""
        return max(1, round(STEP_S / self.turn(20)))

    def turn(self, steps: int = TURN) -> float:
        """Seconds of a step, the middle one."""
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
        """Bare and told, turn by turn."""
        found = []
        for _ in range(steps // (2 * TURN)):
            bare_s = self.turn()
            told = self.watched()
            found.append((bare_s, self.turn()))
            told.close()
        return found

    def watched(self) -> Any:
        """As by the import."""
        from clusterwright.runtime import watched

        told = watched.watch(self.environ)
        assert told
        return told


def slowed(folder: Path, steps: int) -> None:
    """Turns of one process: steps that are told, and steps that are not."""
    import torch

    torch.set_num_threads(1)
    layers = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))
    environ = {"CLUSTERWRIGHT_RUN": str(folder), "WORLD_SIZE": "1"}
    training = Training(layers, torch.ones(64, 512), environ)
    training.repeat = training.long_enough()
    tell("a step that is told", training.pairs(steps))
    alone("telling it, alone", telling(training.watched(), training.optimizer))
    alone("a pass that is measured, alone", measuring())


def slowed_ranks(folder: Path, steps: int) -> None:
    """The same of rank 0 of two, in processes of their own; by the time of the thread that trains."""
    from torch import multiprocessing

    multiprocessing.spawn(rank, (str(folder), free_port(), steps), nprocs=2)  # type: ignore[no-untyped-call,attr-defined] # (torch's own)
    tell("a told step of 2 ranks", json.loads((folder / "turns.json").read_text()))


def rank(number: int, folder: str, port: int, steps: int) -> None:
    """One of them, of a model with many weights."""
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


def measuring(passes: int = 20_000) -> float:
    """Processor seconds that a backward pass takes longer where its last gradient and its end are told."""
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
        training.turn(1)  # in which it looks for the last gradient
        found.append(training.turn() - bare_s)
        measured.close()
    return statistics.median(found)


def telling(told: Any, optimizer: Any, steps: int = 2000) -> float:
    """Processor seconds of telling a step, at the rhythm of such steps, so that writes are as many as there."""
    spent = 0.0
    for _ in range(steps):
        time.sleep(STEP_S / 4)
        began = time.process_time()
        told.stepped(optimizer, (), {})
        spent += time.process_time() - began
    return spent / steps


def tell(what: str, pairs: list[tuple[float, float]]) -> None:
    """The middle of the ratios, and the quartiles."""
    low, middle, high = statistics.quantiles((told_s / bare_s for bare_s, told_s in pairs), n=4)
    length = f"{statistics.median(bare_s for bare_s, _ in pairs) * 1e3:.0f} ms a step"
    words = f"{middle - 1:+.3%} (quartiles {low - 1:+.3%} to {high - 1:+.3%}) at {length}"
    say(what, words, middle, SLOWED_GOAL)


def alone(what: str, seconds: float) -> None:
    """As a share of a step, without one that others on the machine could lengthen."""
    words = f"{seconds * 1e6:.0f} us of processor, {seconds / STEP_S:.3%} of a step of {STEP_S * 1e3:.0f} ms"
    say(what, words, 1 + seconds / STEP_S, SLOWED_GOAL)


def say(what: str, words: str, value: float, goal: float) -> None:
    """With whether the goal is met."""
    print(f"{what:<20} {words}; {'met' if value <= goal else 'MISSED'}", flush=True)


def free_port() -> int:
    """One that was free a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    main()
