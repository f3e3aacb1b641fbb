"""Overhead of the runtime per step, against a bare loop, Accelerate and Lightning Fabric.

    python -m bench.loop_cost [--rounds 40] [--steps 20] [--ranks 1]   (minutes; needs accelerate, lightning-fabric)

Each has the same model, batches and optimizer (loops/train.py) and one process per rank, all alive at once; they
alternate in turns of some steps, in changing order, while the others sleep. A round is a turn of each and gives one
ratio to the bare loop. Goals: at most 1.01 times the bare loop, and not slower than the other two.
CPU time of all threads is printed too, as it depends less on other load.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LOOPS = ("bare", "ours", "accelerate", "fabric")
TRAIN = Path(__file__).parent / "loops" / "train.py"
GOAL = 1.01
PORT = 29871


class Loop:
    """The ranks of one loop, which train on request."""

    def __init__(self, name: str, ranks: int, folder: str) -> None:
        port = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(PORT + LOOPS.index(name))}
        more = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "LOOP": name, "LOOP_FOLDER": folder}
        sizes = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "ACCELERATE_USE_CPU": "true"}
        self.ranks = [
            subprocess.Popen(
                [sys.executable, str(TRAIN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, **port, **more, **sizes, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            )
            for rank in range(ranks)
        ]  # fmt: skip

    def turn(self, steps: int) -> dict[str, float]:
        """Run steps on all ranks; return rank 0's median seconds and CPU seconds per step, and the last loss."""
        for rank in self.ranks:
            assert rank.stdin
            rank.stdin.write(f"{steps}\n")
            rank.stdin.flush()
        said = [json.loads(rank.stdout.readline()) for rank in self.ranks if rank.stdout]
        return {**said[0], "seconds": statistics.median(said[0]["seconds"])}

    def end(self) -> None:
        """Stop all ranks of the loop."""
        for rank in self.ranks:
            rank.kill()
            rank.wait()


def main() -> None:
    """Run the rounds and print a line for each loop."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=20, help="of a turn")
    parser.add_argument("--ranks", type=int, default=1)
    given = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f}, {given.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        loops = {name: Loop(name, given.ranks, folder) for name in LOOPS}
        try:
            rounds = list(measured(loops, given.rounds, given.steps))
        finally:
            for each in loops.values():
                each.end()
    print_results(rounds)


def measured(loops: dict[str, Loop], rounds: int, steps: int) -> list[dict[str, dict[str, float]]]:
    """Run the rounds, each with a turn of each loop; all must have equal losses."""
    order, found = random.Random(1), []
    for loop in loops.values():
        loop.turn(steps)
    for _ in range(rounds):
        names = list(LOOPS)
        order.shuffle(names)
        turns = {name: loops[name].turn(steps) for name in names}
        losses = {round(each["loss"], 5) for each in turns.values()}
        assert len(losses) == 1, f"losses differ: {turns}"
        found.append(turns)
    return found


def print_results(rounds: list[dict[str, dict[str, float]]]) -> None:
    """Print each loop against the bare loop, and ours against the others, by wall and CPU time."""
    for name in LOOPS:
        milliseconds = statistics.median(each[name]["seconds"] for each in rounds) * 1e3
        print(f"{name:<11} {milliseconds:7.2f} ms a step, {spread(ratios(rounds, name, 'bare'))} of bare")
    for name, goal in (("bare", GOAL), ("accelerate", 1.0), ("fabric", 1.0)):
        found = ratios(rounds, "ours", name)
        met = "met" if statistics.median(found) <= goal else "MISSED"
        cpu = ratios(rounds, "ours", name, "cpu_s")
        print(f"ours / {name}: {spread(found)}, goal {goal}: {met}; CPU time {spread(cpu)}")


def ratios(
    rounds: list[dict[str, dict[str, float]]], one: str, other: str, what: str = "seconds"
) -> list[float]:
    """Return the ratio of two loops in each round."""
    return [each[one][what] / each[other][what] for each in rounds]


def spread(values: list[float]) -> str:
    """Format median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.4f} ({low:.4f} to {high:.4f})"


if __name__ == "__main__":
    main()
