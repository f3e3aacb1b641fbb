"""Experiment 6: cost of a checkpoint for a training, as stall and as slower steps until it is on disk.

States of 300 MB and 1.2 GB (weights and AdamW's two moments), on one rank and on two; equal on all ranks, as with
DistributedDataParallel. Steps of about 100 ms are computed with one thread per rank, so two ranks use both CPUs of the
machine.
`stall` is the time of the call; `slower` is the excess over the earlier median of the steps until everything is on
disk, and of three more; `total` is both; `durable` is the time from the call until everything is on disk.
`memcpy` is a copy of what this rank writes into used memory; `stall_per_memcpy` has the goal.
`cpu` is the CPU time of rank 0's processes beyond the steps; it and `stall_cpu_per_memcpy` hardly depend on other
load.
The first save of each system, with its one-time costs, is a separate case; if a system prepares it when training
begins, as ours does, steps run until that is done, and `ahead`, their excess, is part of `slower`.
All systems alternate in one training.

Loading: the same state from the page cache, verified and unverified, and by torch.load and dcp.load, which verify
nothing.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.resilience import lines

WORKER = "CHECKPOINT_WORKER"
BEFORE, AFTER = 6, 3  # steps
PATIENCE_S = 120.0


def main() -> None:
    """Run trainings of one and two ranks, for each size."""
    given = lines.options(__doc__, seeds=5)
    cases = [
        (ranks, f"{megabytes}:{given.seeds}:{given.out}:{what}")
        for megabytes in ((100,) if given.quick else (300, 1200))
        for ranks, what in ((1, given.systems or ""), (2, given.systems or ""), (1, "load"))
        if what != "load" or not given.systems
    ]
    if failed := [case for case in cases if not train(*case)]:
        sys.exit(f"{len(failed)} of {len(cases)} trainings failed")


def train(ranks: int, what: str) -> bool:
    """Run ranks of this script; return False if one failed, after ending the others."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="bench-checkpoint-", dir=os.environ.get("BENCH_DIR"))
    common = {
        **os.environ, WORKER: what, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks),
        "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "BENCH_FOLDER": folder,
    }  # fmt: skip
    started: list[subprocess.Popen] = []
    try:
        for rank in range(ranks):
            own = {**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}
            started.append(subprocess.Popen([sys.executable, "-m", "bench.resilience.checkpoint"], env=own))
        while any(each.poll() is None for each in started) and not any(each.returncode for each in started):
            time.sleep(0.2)
    finally:
        for each in started:
            each.kill()
        codes = [each.wait() for each in started]
        shutil.rmtree(folder, ignore_errors=True)
    if any(codes):
        lines.say(f"{what}, {ranks} ranks: exit codes {codes}")
    return not any(codes)


def work(what: str) -> None:
    """Run one rank: measure saves or loads of the system and size in `what`."""
    import torch

    from clusterwright.runtime import group

    size, seeds, out, systems = what.split(":")
    joined = group.join()
    floats = int(size) * 1_000_000 // 4 // 300
    generator = torch.Generator().manual_seed(1)
    state = {
        kind: {f"layer{n}": torch.randn(floats, generator=generator) for n in range(100)}
        for kind in ("model", "exp_avg", "exp_avg_sq")
    }
    trial = Trial(joined, state, int(size), lines.Lines("checkpoint", out))
    if systems == "load":
        trial.loads(int(seeds))
    else:
        trial.saves(int(seeds), systems)
    joined.destroy()


class Trial:
    """A training with a state, and its measurements."""

    def __init__(self, joined: object, state: dict, megabytes: int, out: lines.Lines) -> None:
        import torch

        self.group, self.state, self.out = joined, state, out
        self.folder = Path(os.environ["BENCH_FOLDER"])
        name = f"{megabytes} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"
        self.case = f"{name}, {joined.world_size} rank{'s' if joined.world_size > 1 else ''}"
        self.square = torch.randn(512, 512)
        self.tensors = [each for part in state.values() for each in part.values()]
        mine = self.tensors[joined.rank :: joined.world_size]
        self.copies = [(torch.zeros_like(each), each) for each in mine]
        self.times: list[float] = []
        begun = time.perf_counter()
        for _ in range(10):
            self.square @ self.square
        self.rounds = max(1, int(1.0 / (time.perf_counter() - begun)))

    def step(self) -> None:
        """Compute and synchronize with the others, as a training step does."""
        import torch.distributed as dist

        begun = time.perf_counter()
        for _ in range(self.rounds):
            self.square @ self.square
        dist.all_reduce(self.square[0, :1].clone())
        self.times.append(time.perf_counter() - begun)

    def memcpy(self) -> tuple[float, float]:
        """Return wall and CPU seconds of the best of three copies of what this rank writes: the lower bound."""
        found = []
        for _ in range(3):
            begun, cpu = time.perf_counter(), time.thread_time()
            for target, source in self.copies:
                target.copy_(source)
            found.append((time.perf_counter() - begun, time.thread_time() - cpu))
        return min(wall for wall, _ in found), min(cpu for _, cpu in found)

    def saves(self, seeds: int, only: str) -> None:
        """Save with each system once per round; the first round has the first saves."""
        from bench.resilience.checkpoint_systems import SYSTEMS

        chosen = [each for each in SYSTEMS if not only or each.name in only.split("|")]
        made = [each(self.folder, self.group) for each in chosen]
        for system in made:
            self.save(system, 0)
        for seed, system in lines.interleaved(made, seeds):
            self.save(system, seed)

    def save(self, system: object, seed: int) -> None:
        """Run steps, a save, and steps until it is on disk."""
        load = lines.load()
        gc.collect()
        self.times.clear()
        computed = spent()
        for _ in range(BEFORE):
            self.step()
        usual, computed = statistics.median(self.times), (spent() - computed) / BEFORE
        ahead = 0.0 if seed else self.prepare(system, usual)
        copied, copied_cpu = self.memcpy()
        self.times.clear()
        rss, cpu = reset_peak(), spent()
        begun, thread = time.perf_counter(), time.thread_time()
        durable = system.begin(seed + 1, self.state)
        stall, thread = time.perf_counter() - begun, time.thread_time() - thread
        seconds = self.until(durable, begun)
        for _ in range(AFTER):
            self.step()
        system.end()
        cpu = spent() - cpu - computed * len(self.times)
        slower = ahead + sum(self.times) - len(self.times) * usual
        if self.group.rank == 0:
            self.out.write(
                system.name, case=self.case if seed else f"{self.case}, first", seed=seed, load=load,
                seconds={
                    "stall": stall, "slower": slower, "durable": seconds, "memcpy": copied, "step": usual, "cpu": cpu,
                    "total": stall + slower, "ahead": ahead,
                },
                figures={
                    "stall_per_memcpy": stall / copied, "stall_cpu_per_memcpy": thread / copied_cpu,
                    "peak_rss_bytes": peak() - rss,
                },
            )  # fmt: skip

    def prepare(self, system: object, usual: float) -> float:
        """Run steps until the system has prepared its first save; return their excess seconds."""
        self.times.clear()
        begun = time.perf_counter()
        busy = system.prepare(self.state)
        called = time.perf_counter() - begun
        self.steps_until(lambda: not busy())
        return called + sum(self.times) - len(self.times) * usual

    def until(self, durable: object, begun: float) -> float:
        """Run steps until rank 0 has the save on disk; return the seconds since it began."""
        seen: list[float] = []

        def known() -> bool:
            if durable.is_set() and not seen:
                seen.append(time.perf_counter() - begun)
            return bool(seen) or self.group.rank != 0

        self.steps_until(known)
        return seen[0] if seen else time.perf_counter() - begun

    def steps_until(self, seen: Callable[[], bool]) -> None:
        """Run steps until `seen` is true on all ranks or the timeout has passed; all ranks run the same number."""
        import torch
        import torch.distributed as dist

        limit = time.perf_counter() + PATIENCE_S
        while True:
            waiting = torch.tensor([int(not seen() and time.perf_counter() < limit)])
            dist.all_reduce(waiting, dist.ReduceOp.MAX, group=self.group.control)
            if not waiting.item():
                return
            self.step()

    def loads(self, seeds: int) -> None:
        """Measure loads of the same state from the page cache by each system."""
        import torch
        from torch.distributed import checkpoint as dcp

        from clusterwright.runtime.checkpoints import part
        from clusterwright.runtime.checkpoints.checkpoint import Checkpoints, load

        ours = Checkpoints(self.folder / "ours", self.group, save_total_limit=2)
        ours.save(1, self.state, {})
        ours.wait()
        torch.save(self.state, self.folder / "state.pt")
        dcp.save(self.state, checkpoint_id=self.folder / "dcp")

        def unverified() -> object:
            with replaced(part.Reader, "_verify", lambda *_, **__: None):
                return load(self.folder / "ours" / "step-00000001")

        def into() -> dict:
            found = {
                kind: {name: torch.empty_like(t) for name, t in each.items()}
                for kind, each in self.state.items()
            }
            dcp.load(found, checkpoint_id=self.folder / "dcp")
            return found

        acts: list[tuple[str, Callable[[], object]]] = [
            ("ours", lambda: load(self.folder / "ours" / "step-00000001")), ("ours, unverified", unverified),
            ("torch.load", lambda: torch.load(self.folder / "state.pt", weights_only=True)), ("dcp.load", into),
        ]  # fmt: skip
        for _, act in acts:
            act()
        for seed, (name, act) in lines.interleaved(acts, seeds):
            load_average, begun, cpu = lines.load(), time.perf_counter(), time.process_time()
            found = act()
            wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
            self.out.write(
                name,
                case=f"load, {self.case}",
                seed=seed,
                load=load_average,
                seconds={"total": wall, "cpu": cpu},
            )
            del found


@contextlib.contextmanager
def replaced(owner: type, name: str, other: object) -> Iterator[None]:
    """Replace a function for a block, such as the checksum by a no-op, to measure an unverified load."""
    kept = getattr(owner, name)
    setattr(owner, name, other)
    try:
        yield
    finally:
        setattr(owner, name, kept)


def spent() -> float:
    """Return CPU seconds of this process and its children so far."""
    total = time.process_time()
    for child in children():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            total += (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    return total


def children() -> list[str]:
    """Return the pids of the child processes of all threads."""
    return [
        child for path in Path("/proc/self/task").glob("*/children") for child in path.read_text().split()
    ]


def reset_peak() -> int:
    """Reset the peak memory of this process; return its current bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """Return the peak memory of this process and its children."""
    own = _status("/proc/self/status", "VmHWM")
    return own + sum(_status(f"/proc/{child}/status", "RssAnon") for child in children())


def _status(path: str, key: str) -> int:
    with contextlib.suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    if WORKER in os.environ:
        work(os.environ[WORKER])
    else:
        main()
