"""Experiment 8, overhead without failures: step time with all features of Clusterwright, and without.

    python -m bench.resilience.overhead [--out FILE] [--seeds 8] [--quick] [--steps 200]

`bare` is the same loop under torchrun, without data, checkpoints and services.
`ours` is our launcher and runtime with the defaults: in-memory checkpoints, hang detection, goodput accounting, events,
and a checkpoint every 100 steps.
Each seed is a pair of trainings in alternating order; a line has one of them.
Medians of two trainings differ by more than the overhead, so pairs are many and short, and two more figures are
measured: rank 0's time between the work of two steps (`outside`, `outside_cpu`), and the CPU time per step of all
processes of the training, launcher included (`cpu`).
Each rank and its threads are pinned to one CPU; agents and supervisors are not.
The import is that of clusterwright.runtime in a process with torch imported.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from bench.resilience.launched import Launched, launched
from bench.resilience.lines import Lines, interleaved, load, options, say, spread, versions
from bench.resilience.systems import TRAININGS, Start, System, ours

WARM_UP = 25  # first steps of each training, not counted
LIMIT_S = 240.0
IMPORT = """
import time, torch
begun = time.perf_counter()
import clusterwright.runtime
print(time.perf_counter() - begun)
"""
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
BARE = System("bare", "best", lambda _: [Start([*TORCHRUN, str(TRAININGS / "bare.py")])])
OURS = System("ours", "best", ours("ours.py", every="100 steps"))


def main() -> None:
    """Measure the import, then the pairs."""
    more = argparse.ArgumentParser(add_help=False)
    more.add_argument("--steps", type=int, default=None, help="steps of each training (200; with --quick 60)")
    given = options(__doc__ or "", seeds=8, quick=1, more=more)
    lines = Lines("overhead", given.out)
    _import(lines, 3 if given.quick else 10)
    steps = given.steps or (60 if given.quick else 200)
    for seed, system in interleaved((BARE, OURS), given.seeds):
        found = steps_of(system, steps)
        lines.write(system.name, case="step", seed=seed, **found)
        say(f"{system.name} {seed}: {found['outcome']} {found['seconds']}")


def _import(lines: Lines, times: int) -> None:
    for seed in range(1, times + 1):
        busy = load()
        own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            [sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True, env=own
        )
        lines.write("ours", case="import", seed=seed, load=busy, seconds={"total": float(done.stdout)})


def steps_of(system: System, steps: int) -> dict[str, object]:
    """Run a training; return statistics of rank 0's steps, and means of the time between and the CPU time."""
    busy = load()
    with launched(system, BENCH_UNTIL=str(steps + WARM_UP), BENCH_PIN="1") as training:
        training.until(lambda: training.newest_step() >= WARM_UP, LIMIT_S)
        first, before = training.newest_step(), taken(training)
        training.until(lambda: training.newest_step() >= steps + WARM_UP, LIMIT_S)
        cpu = since(before, taken(training)) / max(1, training.newest_step() - first)
        marks = [each for each in training.of("step") if each["rank"] == 0][WARM_UP - 1 :]
        reason = training.last_words()
    seconds = [after["time"] - before["time"] for before, after in pairwise(marks)]
    around = spread(seconds)
    if not around or around.count < steps:
        return {"outcome": "lost", "reason": reason, "load": busy, "seconds": {}, "figures": {}}
    found = {"median": around.median, "mean": fmean(seconds), "least": around.least, "most": around.most}
    found |= {name: fmean(each[name] for each in marks) for name in ("outside", "outside_cpu")}
    figures = {"steps": around.count}
    return {
        "outcome": "ok",
        "seconds": {**found, "cpu": cpu},
        "figures": figures,
        "load": busy,
        "versions": versions(),
    }


def taken(training: Launched) -> dict[tuple[int, str], int]:
    """Return CPU nanoseconds so far of each process and thread (proc(5), schedstat)."""
    found = {}
    for pid in training.alive():
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):
                found[pid, thread.parent.name] = int(thread.read_text().split()[0])
    return found


def since(before: dict[tuple[int, str], int], after: dict[tuple[int, str], int]) -> float:
    """Return CPU seconds of these processes since `before`; those of exited threads are not included."""
    then = {pid for pid, _ in before}
    return sum(now - before.get(each, 0) for each, now in after.items() if each[0] in then) / 1e9


if __name__ == "__main__":
    main()
