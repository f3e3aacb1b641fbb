"""Overhead of `wright bench collectives` over Gloo: its timed all-reduce against a bare loop, alternately in one run.

    python -m bench.collectives [TURNS] [RANKS]        (torch; 20 turns of 2 ranks, about a minute)

A turn is a bare loop of 20 calls and a row of our sweep of 20 calls, in alternating order. Prints the median time of a
call of each, and median and quartiles of the turns' ratios. Goal: 3 % for messages of at least 1 MiB.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

SWEEP = Path(__file__).parents[1] / "src/clusterwright/onhost/bench"
SIZES = (64 * 1024, 2**20, 2**24)
CALLS, GOAL, FROM = 20, 1.03, 2**20
NOISE = 0.1  # quartiles of the ratio further apart are too noisy to judge 3 %
PORT = 29655


def bare(size: int) -> float:
    """Return the seconds per call of an all-reduce on the slowest rank, in a bare loop."""
    data = torch.ones(size // 4)
    for _ in range(2):
        dist.all_reduce(data)
    dist.barrier()
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        dist.all_reduce(data)
        times.append(time.perf_counter() - began)
    slowest = torch.tensor(times, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return statistics.median(slowest.tolist())


def rank(turns: int) -> None:
    """Run one rank; rank 0 prints the times of every turn."""
    sys.path.insert(0, str(SWEEP))
    sweep = importlib.import_module("sweep")

    dist.init_process_group("gloo")
    for size in SIZES:
        for turn in range(turns):
            ways = [
                ("bare", bare),
                ("ours", lambda n: sweep.one("all_reduce", n, CALLS, torch.device("cpu"))["time_us"] / 1e6),
            ]
            found = {name: way(size) for name, way in (ways if turn % 2 else ways[::-1])}
            if dist.get_rank() == 0:
                print(json.dumps({"size": size, **found}))
    dist.destroy_process_group()


def main() -> None:
    """Start the ranks and print the results."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    ranks = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    where = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(PORT),
        "WORLD_SIZE": str(ranks),
        "OMP_NUM_THREADS": "1",
    }
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.collectives", "--rank", str(turns)],
            env=os.environ | where | {"RANK": str(number)}, stdout=subprocess.PIPE, text=True,
        )
        for number in range(ranks)
    ]  # fmt: skip
    rows = [json.loads(line) for line in started[0].communicate(timeout=900)[0].splitlines()]
    assert all(each.wait(60) == 0 for each in started)
    print(
        f"{turns} turns of {CALLS} calls, {ranks} ranks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'bytes':>10}{'bare us':>12}{'ours us':>12}{'ratio':>8}   quartiles")
    for size in SIZES:
        print_results(size, [row for row in rows if row["size"] == size])


def print_results(size: int, rows: list[dict[str, float]]) -> None:
    """Print the median times and ratios for one message size."""
    bare_s, ours_s = (statistics.median(row[way] for row in rows) for way in ("bare", "ours"))
    ratios = [row["ours"] / row["bare"] for row in rows]
    low, ratio, high = statistics.quantiles(ratios, n=4)
    outcome = "too noisy to say" if high - low > NOISE else "met" if ratio <= GOAL else "MISSED"
    goal = "" if size < FROM else f"  goal {GOAL}: {outcome}"
    print(
        f"{size:>10}{bare_s * 1e6:>12.1f}{ours_s * 1e6:>12.1f}{ratio:>8.3f}   {low:.3f} to {high:.3f}{goal}"
    )


if __name__ == "__main__":
    rank(int(sys.argv[2])) if sys.argv[1:2] == ["--rank"] else main()
