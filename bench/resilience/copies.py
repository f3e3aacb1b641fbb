"""Experiment 8, cost of in-memory checkpoints: step time with and without, and the time that training waits.

    python -m bench.resilience.copies [--out FILE] [--seeds 3] [--quick] [--steps 400]

Two hosts of one rank each, so that every copy is sent to the other, through the network of this machine.
Each seed is a training without copies, one with `auto` and one with a copy at each step, alternating; a line has
one of them. `share` is the time that training waited, from its events, over its duration; the page computes
`step_ratio` from the means. The state is a model with its two moments, one half on each rank.
On two CPUs the sending competes with the training; on a host with GPUs it does not.
"""

from __future__ import annotations

import argparse
import json
from itertools import pairwise
from statistics import fmean
from typing import Any

from bench.resilience.launched import Launched, launched
from bench.resilience.lines import Lines, interleaved, load, options, say, spread
from bench.resilience.systems import System, ours

WARM_UP = 25  # first steps of each training, not counted
LIMIT_S = 300.0
STATES = {"1 MB": 2_500, "30 MB": 75_000}  # width of the model: 34 numbers each, 12 bytes per number


def with_copies(name: str, memory: str) -> System:
    """Return our system with this setting of in-memory checkpoints and no checkpoints on disk."""
    checkpoint = {"every": "1000000 steps", "memory": memory}
    return System(name, "best", ours("ours.py", nodes=2, gpus_per_node=1, checkpoint=checkpoint))


SYSTEMS = (
    with_copies("ours, no copies", "never"),
    with_copies("ours", "auto"),
    with_copies("ours, each step", "1 step"),
)


def main() -> None:
    """Run all sizes and seeds."""
    more = argparse.ArgumentParser(add_help=False)
    more.add_argument(
        "--steps", type=int, default=None, help="steps of each training (400; with --quick 100)"
    )
    given = options(__doc__ or "", seeds=3, quick=1, more=more)
    lines = Lines("copies", given.out)
    steps = given.steps or (100 if given.quick else 400)
    for case, width in STATES.items():
        for seed, system in interleaved(SYSTEMS, given.seeds):
            found = trial(system, width, steps)
            lines.write(system.name, case=case, seed=seed, **found)
            say(f"{case} {system.name} {seed}: {found}")


def trial(system: System, width: int, steps: int) -> dict[str, Any]:
    """Run one training and return its figures."""
    busy = load()
    with launched(system, BENCH_UNTIL="1000000", BENCH_WIDTH=str(width)) as training:
        training.until(lambda: training.newest_step() >= steps + WARM_UP, LIMIT_S)
        times = [each["time"] for each in training.of("step") if each["rank"] == 0][WARM_UP - 1 :]
        copies = [each for each in events(training) if each["event"] == "copy" and each["time"] > times[0]]
        reason = training.last_words()
    seconds = [after - before for before, after in pairwise(times)]
    around = spread(seconds)
    if not around or around.count < steps:
        return {"outcome": "lost", "reason": reason, "load": busy}
    figures = {
        "steps": around.count, "copies": sum(each["copies"] for each in copies),
        "copy_bytes": max((each["bytes"] for each in copies), default=0),
        "share": sum(each["seconds"] for each in copies) / (times[-1] - times[0]),
    }  # fmt: skip
    found = {"median": around.median, "mean": fmean(seconds), "least": around.least, "most": around.most}
    return {"seconds": found, "figures": figures, "load": busy}


def events(training: Launched) -> list[dict[str, Any]]:
    """Return the events of rank 0 so far."""
    found = list(training.folder.glob("runs/*/events/rank-00000.jsonl"))
    return [json.loads(line) for line in found[0].read_text().splitlines()] if found else []


if __name__ == "__main__":
    main()
