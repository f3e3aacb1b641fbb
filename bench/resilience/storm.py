"""Experiment 1, the storm: ranks of one training are killed many times, and its results must not change.

    python -m bench.resilience.storm [--out FILE] [--seeds 1] [--quick] [--kills 20,200]

A random rank is killed with SIGKILL at a random moment within a few new steps after the last recovery. Then the same
training runs uninterrupted. Every loss of every rank, also of repeated steps, and the final weights must be bitwise
equal. A step takes 50 ms with 20 kills, 10 ms with 200.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from bench.resilience.launched import Launched, launched
from bench.resilience.lines import Lines, load, options, say, spread
from bench.resilience.systems import System, ours

START_S, LIMIT_S, END_S = 60.0, 60.0, 120.0
FEWEST, MOST = 2, 10  # new steps between a recovery and the next kill
Losses = dict[tuple[int, int], set[str]]


def main() -> None:
    """Run a storm and an uninterrupted training for each number of kills and seed."""
    more = argparse.ArgumentParser(add_help=False)
    more.add_argument(
        "--kills", default=None, help="numbers of kills, separated by commas (20,200; with --quick 5)"
    )
    given = options(__doc__ or "", seeds=1, quick=1, more=more)
    lines = Lines("storm", given.out)
    system = System("ours", "best", ours("ours.py", every="50 steps"))
    for kills in [int(each) for each in (given.kills or ("5" if given.quick else "20,200")).split(",")]:
        for seed in range(1, given.seeds + 1):
            found = storm(system, kills, seed)
            lines.write("ours", case=f"{kills} kills", seed=seed, **found)
            say(f"{kills} kills: {found['outcome']} {found['seconds']} {found.get('why', '')}")


def storm(system: System, kills: int, seed: int) -> dict[str, Any]:
    """Run a storm and an uninterrupted training; return the outcome of their comparison."""
    dice, busy = random.Random(seed), load()
    gaps = [dice.randrange(FEWEST, MOST) for _ in range(kills)]
    env = {
        "BENCH_STEP_S": "0.05" if kills < 100 else "0.01",
        "BENCH_UNTIL": str(sum(gaps) + 10 * len(gaps) + 20),
    }
    with launched(system, keep=_keep(), **env) as training:
        recoveries = _kill_all(training, gaps, dice)
        code = training.finish(END_S) if len(recoveries) == kills else None
        stormy, last, reason = _losses(training), _weights(training), training.last_words()
    with launched(system, **env) as training:
        training.finish(START_S + END_S)
        calm, expected = _losses(training), _weights(training)
    differing = sum(stormy.get(key) != values for key, values in calm.items())
    around = spread(recoveries)
    figures = {
        "kills": kills, "recovered": len(recoveries), "losses": len(calm), "differing_losses": differing,
        "same_weights": bool(expected) and last == expected, "exit_code": code, "recoveries_s": recoveries,
    }  # fmt: skip
    seconds = {"total": around.median, "least": around.least, "most": around.most} if around else {}
    outcome = (
        "lost" if code != 0 else "ok" if figures["same_weights"] and calm and not differing else "differs"
    )
    found = {"outcome": outcome, "seconds": seconds, "figures": figures, "load": busy}
    return found if outcome == "ok" else {**found, "reason": reason}


def _kill_all(training: Launched, gaps: list[int], dice: random.Random) -> list[float]:
    """Return the seconds of each recovery; fewer than the gaps if one failed."""
    found: list[float] = []
    if not training.until(lambda: training.newest_step() >= FEWEST, START_S):
        return found
    for gap in gaps:
        target = training.newest_step() + gap
        if not training.until(lambda wanted=target: training.newest_step() >= wanted, LIMIT_S):
            return found
        time.sleep(dice.random() * 0.06)
        training.tail(0)
        old = {each["pid"] for each in training.of("script")}
        fault = time.time()
        os.kill(_victim(training, dice.randrange(2)), signal.SIGKILL)
        new = training.until(lambda gone=old: _new(training, gone), LIMIT_S)
        if not new:
            return found
        found.append(new["time"] - fault)
    return found


def _victim(training: Launched, rank: int) -> int:
    return [each["pid"] for each in training.of("group") if each["rank"] == rank][-1]


def _new(training: Launched, old: set[int]) -> dict[str, Any] | None:
    """Return the first mark of a step completed by a new process only."""
    steps = training.of("step")
    before = max(each["step"] for each in steps if each["pid"] in old)
    return next((each for each in steps if each["pid"] not in old and each["step"] > before), None)


def _losses(training: Launched) -> Losses:
    """Return the set of losses by rank and step; more than one if a repetition differs."""
    found: Losses = {}
    for each in training.of("step"):
        found.setdefault((each["rank"], each["step"]), set()).add(each["loss"])
    return found


def _weights(training: Launched) -> set[str]:
    return {each["digest"] for each in training.of("weights")}


def _keep() -> Path | None:
    return Path(os.environ["BENCH_KEEP"]) if "BENCH_KEEP" in os.environ else None


if __name__ == "__main__":
    main()
